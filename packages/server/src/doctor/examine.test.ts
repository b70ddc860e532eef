import { chmod, copyFile, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { once } from "node:events"
import { DatabaseSync } from "node:sqlite"
import { Worker } from "node:worker_threads"
import { expect, test } from "vitest"
import { examine, type Examination, type ExamineOptions } from "./examine.ts"
import {
  examinedData,
  examinedPosts,
  examinedSecret,
  postId,
  postText,
  type ExaminedData,
} from "./examined-data.testing.ts"
import type { AppId } from "../model/ids.ts"
import { openEmbeddedStore } from "../store/embedded/serving/embedded-store.ts"
import { pageBytes } from "../store/embedded/connection/log-checkpoints.ts"
import { WebhookReceiver } from "../../../../test/support/webhook-receiver.testing.ts"

const nowMs = Date.now()

function examineOffline(
  { path }: { path: string },
  { flags = {}, env = {} }: Partial<ExamineOptions> = {},
): Promise<Examination> {
  return examine({ flags: { data: path, ...flags }, env, isOffline: true })
}

/** Texts of the findings of a level, but for those about the disk: how full this machine's is, is not our doing. */
function texts({ findings }: Examination, level: "ok" | "warning" | "error"): readonly string[] {
  return findings.filter((finding) => finding.level === level && finding.subject !== "disk").map(({ text }) => text)
}

test("the numbers of an intact store are proved, and its outstanding matches are reported", async () => {
  await using data = await examinedData({ atMs: nowMs - 360_000 })
  const found = await examineOffline(data)
  expect(texts(found, "error")).toEqual([])
  expect(found.ok).toBe(true)
  expect(found.proof).toEqual({
    holds: true,
    posts: { accepted: examinedPosts, trimmed: 0, stored: examinedPosts },
    matches: { appended: examinedPosts, trimmed: 0, kept: examinedPosts },
    links: [
      {
        application_id: "5",
        webhook_id: "12",
        owed: 10,
        delivered: 6,
        retrying: 1,
        dead_letters: 1,
        expired: 0,
        missed: 0,
        withdrawn: 0,
        waiting: 2,
        confirmed: 6,
      },
    ],
  })
  expect(texts(found, "warning")).toEqual([
    "The link to webhook 12 is 2 matches behind. The oldest that is not delivered has waited for 6 min.",
    "1 match of webhook 12 failed and is tried again; at most 2 failures so far.",
    "1 dead letter of webhook 12.",
  ])
  expect(found.findings.map(({ subject }) => subject)).toEqual([
    "settings",
    "store",
    "rules",
    "proof",
    "proof",
    "proof",
    "deliveries",
    "deliveries",
    "deliveries",
    "clock",
    "disk",
  ])
})

/** Everything in a directory, with what it holds. */
async function contentOf(path: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(path)).toSorted()
  return new Map(
    await Promise.all(
      names.map(async (name) => {
        const { mode, mtimeMs } = await stat(join(path, name))
        return [name, `${mode} ${mtimeMs} ${await readFile(join(path, name), "base64")}`] as const
      }),
    ),
  )
}

test("an examination changes nothing in the directory and leaves no file there", async () => {
  await using data = await examinedData({ atMs: nowMs })
  const before = await contentOf(data.path)
  expect([...before.keys()]).toEqual(["master.key", "sluice.db"])
  await examineOffline(data)
  expect(await contentOf(data.path)).toEqual(before)
})

test("an examination reads the write-ahead log, and leaves it where it is", async () => {
  await using data = await examinedData({ atMs: nowMs })
  await using store = await openEmbeddedStore({ file: data.file })
  const post = {
    id: postId(11),
    createdAtMs: nowMs,
    isReply: false,
    isRepost: false,
    core: Buffer.from("{}"),
    envelope: Buffer.from('{"data":{}}'),
    userIds: [],
    users: [],
    includedIds: [],
  }
  await store.append([{ post, matches: [{ appId: "5" as AppId, rules: [{ id: "3", tag: "" }] }] }], nowMs)
  const log = await readFile(`${data.file}-wal`)
  const found = await examineOffline(data)
  expect(found.ok).toBe(true)
  expect(found.proof?.posts.stored).toBe(11)
  expect(await readFile(`${data.file}-wal`)).toEqual(log)
})

test("a directory that does not exist, or holds no store, is reported, and nothing is created", async () => {
  await using data = await examinedData({ atMs: nowMs })
  const nowhere = join(data.path, "nowhere")
  const found = await examineOffline({ path: nowhere })
  expect(found.ok).toBe(false)
  expect(found.proof).toBeUndefined()
  expect(texts(found, "error")).toEqual([`There is no data directory ${nowhere}.`])
  await rm(data.file)
  await rm(join(data.path, "master.key"))
  expect(texts(await examineOffline(data), "error")).toEqual([
    `The data directory ${data.path} holds no store (sluice.db).`,
  ])
  expect(await readdir(data.path)).toEqual([])
})

/** Turns one bit in the file, within the only copy, or every copy, of a text. */
async function flipBit(file: string, text: string): Promise<number> {
  const content = await readFile(file)
  await using handle = await open(file, "r+")
  let copies = 0
  for (let at = content.indexOf(text); at !== -1; at = content.indexOf(text, at + 1)) {
    copies += 1
    await handle.write(Buffer.of((content[at] ?? 0) ^ 1), 0, 1, at)
  }
  return copies
}

test("a flipped bit in a post is named", async () => {
  await using data = await examinedData({ atMs: nowMs })
  expect(await flipBit(data.file, postText(3))).toBeGreaterThan(0)
  const found = await examineOffline(data)
  expect(found.ok).toBe(false)
  expect(texts(found, "error").join("\n")).toContain(`post ${postId(3)}`)
  expect(texts(found, "error").join("\n")).not.toContain(`post ${postId(4)}`)
  expect(found.proof?.holds).toBe(false)
})

test("pages of garbage are reported, each or all of them, and nothing is thrown", async () => {
  const garbled = async (page: number, pages: number): Promise<string> => {
    await using data = await examinedData({ atMs: nowMs })
    await using handle = await open(data.file, "r+")
    await handle.write(Buffer.alloc(pages * pageBytes, 0x5a), 0, undefined, (page - 1) * pageBytes)
    const found = await examineOffline(data)
    expect([page, found.ok, found.proof?.holds ?? false]).toEqual([page, false, false])
    return texts(found, "error").join("\n")
  }
  for (const page of [3, 5, 8, 11, 16]) expect(await garbled(page, 1)).toContain(`page ${page}`)
  expect(await garbled(1, 1)).toContain("file is not a database")
  expect(await garbled(2, 20)).toContain("cannot be read to its end")
})

/** Text that no SQLite file begins with. */
const notAStore = "not a database at all\n".repeat(1_000)

test("a file that is not a store is reported", async () => {
  await using data = await examinedData({ atMs: nowMs })
  await writeFile(data.file, notAStore)
  const found = await examineOffline(data)
  expect(found.proof).toBeUndefined()
  expect(texts(found, "error")).toEqual(["The store cannot be read to its end: file is not a database."])
})

test("an empty file is reported as a store that the next start upgrades", async () => {
  await using data = await examinedData({ atMs: nowMs })
  await writeFile(data.file, "")
  const found = await examineOffline(data)
  expect(found.proof).toBeUndefined()
  expect(texts(found, "warning")).toEqual([expect.stringMatching(/^The store has version 0, /)])
})

test("a file that was cut short is reported", async () => {
  await using data = await examinedData({ atMs: nowMs })
  await using handle = await open(data.file, "r+")
  await handle.truncate(Math.floor((await stat(data.file)).size / 2))
  const found = await examineOffline(data)
  expect(found.ok).toBe(false)
})

test.each<[what: string, sql: string, said: string]>([
  [
    "a delivery that was never made",
    "UPDATE links SET delivered = delivered - 1",
    "The link to webhook 12 has passed 8 matches and accounts for 7",
  ],
  ["a retry that is lost", "DELETE FROM retries", "The link to webhook 12 has passed 8 matches and accounts for 7"],
  ["a dead letter that is lost", "DELETE FROM dead_letters", "has passed 8 matches and accounts for 7"],
  ["a cursor that ran ahead", "UPDATE links SET position = 99, delivered = 97", "beyond the newest match 10"],
  ["a lost match", "DELETE FROM matches WHERE seq = 9", "has 9 entries from 1 to 10: 1 missing."],
  [
    "a post counted and not stored",
    "UPDATE totals SET posts_accepted = 11",
    "1 acknowledged post is missing: 11 were accepted, retention took 0, and 10 are stored.",
  ],
])("the proof finds %s", async (_, sql, said) => {
  await using data = await examinedData({ atMs: nowMs })
  data.tamper(sql)
  const found = await examineOffline(data)
  expect(found.ok).toBe(false)
  expect(found.proof?.holds).toBe(false)
  expect(texts(found, "error").join("\n")).toContain(said)
})

test("attempts contradict a count that is too low, though the sum is right", async () => {
  await using data = await examinedData({ atMs: nowMs })
  data.change(
    `UPDATE links SET delivered = 4, retries = 3;
     INSERT INTO retries (app_id, link_id, seq, failures, due_at_ms) VALUES (5, 7, 9, 0, 0), (5, 7, 10, 0, 0)`,
  )
  const found = await examineOffline(data)
  expect(texts(found, "error")).toEqual([
    "The link to webhook 12 counts 4 matches as delivered, and its attempts show 6 of them.",
  ])
})

test("a store of a newer Sluice is refused, and one of an older Sluice is reported", async () => {
  await using data = await examinedData({ atMs: nowMs })
  data.tamper("PRAGMA user_version = 9999")
  const newer = await examineOffline(data)
  expect(newer.ok).toBe(false)
  expect(newer.proof).toBeUndefined()
  expect(texts(newer, "error")[0]).toMatch(/^The store has version 9999, .*: it was made by a newer Sluice\.$/)
  data.tamper("PRAGMA user_version = 1")
  const older = await examineOffline(data)
  expect(older.ok).toBe(true)
  expect(texts(older, "warning")[0]).toMatch(/^The store has version 1, /)
})

test("settings that cannot be read are reported, and the store is examined all the same", async () => {
  await using data = await examinedData({ atMs: nowMs })
  const misspelt = await examineOffline(data, { env: { SLUICE_PROT: "1" } })
  expect(misspelt.ok).toBe(false)
  expect(texts(misspelt, "error")).toEqual([
    expect.stringMatching(/^The environment has an unknown setting SLUICE_PROT\./),
  ])
  expect(misspelt.proof?.holds).toBe(true)

  const file = join(data.path, "settings.yaml")
  await writeFile(file, "deliveriesPerLinkMax: many\n")
  const wrong = await examineOffline(data, { flags: { config: file } })
  expect(texts(wrong, "error")).toEqual([expect.stringContaining('deliveriesPerLinkMax "many"')])
  const found = await examine({
    flags: {},
    env: { SLUICE_DATA: data.path, SLUICE_PORT: "x" },
    isOffline: true,
  })
  expect(texts(found, "error")).toEqual([expect.stringContaining("SLUICE_PORT")])
  expect(found.proof?.holds).toBe(true)
})

test("a key that does not fit, is not readable by its owner alone, or is missing is reported", async () => {
  await using data = await examinedData({ atMs: nowMs })
  const wrong = await examineOffline(data, { env: { SLUICE_MASTER_KEY: "ab".repeat(32) } })
  expect(texts(wrong, "error")).toEqual(["The master key is not the one that this store's secrets are sealed under."])
  const file = join(data.path, "master.key")
  await chmod(file, 0o644)
  expect(texts(await examineOffline(data), "error")).toEqual([expect.stringContaining("can be read by others")])
  await rename(file, `${file}.away`)
  expect(texts(await examineOffline(data), "error")).toEqual([expect.stringContaining("is missing")])
  expect(await readdir(data.path)).not.toContain("master.key")
})

test("a secret that cannot be opened, among others that can, is damage", async () => {
  await using data = await examinedData({ atMs: nowMs })
  data.change("UPDATE webhooks SET signing_key = zeroblob(40)")
  expect(texts(await examineOffline(data), "error")).toEqual([
    "The signing key of webhook 12 does not open under the master key that opens the others.",
  ])
})

test("rules that match nothing, and rules that keep the server from starting, are reported", async () => {
  await using data = await examinedData({ atMs: nowMs })
  data.change(
    "INSERT INTO rules (id, app_id, value) VALUES (1, 5, 'cat'), (2, 5, 'form:me'), (3, 5, 'embedding:\"a cat\"')",
  )
  const found = await examineOffline(data)
  expect(texts(found, "error")).toEqual([
    expect.stringMatching(/^Rule 2 of app 5 matches nothing, since this version refuses it: /),
    "Rule 3 of app 5 has embedding:, and there is no endpoint for it, so no server starts.",
  ])
})

test("a clock that is behind the store is reported, and so is a step back in a log", async () => {
  await using ahead = await examinedData({ atMs: nowMs + 3_600_000 })
  expect(texts(await examineOffline(ahead), "error")).toEqual([
    expect.stringMatching(/ is from .*, (1 h 0 min|60 min) later\.$/),
  ])
  await using data = await examinedData({ atMs: nowMs - 7_200_000 })
  await using store = await openEmbeddedStore({ file: data.file })
  const matches = [{ appId: "5" as AppId, rules: [{ id: "3", tag: "" }] }]
  const post = {
    createdAtMs: nowMs,
    isReply: false,
    isRepost: false,
    core: Buffer.from("{}"),
    envelope: Buffer.from("{}"),
    userIds: [],
    users: [],
    includedIds: [],
  }
  await store.append([{ post: { ...post, id: postId(11) }, matches }], nowMs)
  await store.append([{ post: { ...post, id: postId(12) }, matches }], nowMs - 3_600_000)
  expect(texts(await examineOffline(data), "warning")).toContain(
    "The clock was set back by 1 h 0 min between the matches 11 and 12 of app 5.",
  )
})

/** Findings about the endpoints of data that `sluice dev` made. */
async function endpointsOf(data: ExaminedData, isDev = true): Promise<readonly string[]> {
  if (isDev) await writeFile(join(data.path, "credentials.json"), "{}", { mode: 0o600 })
  const { findings } = await examine({ flags: { data: data.path }, env: {}, isOffline: false })
  return findings.filter(({ subject }) => subject === "endpoints").map(({ level, text }) => `${level}: ${text}`)
}

test("an endpoint is challenged once, and the store is not changed", async () => {
  await using receiver = await WebhookReceiver.start(examinedSecret)
  await using data = await examinedData({ url: receiver.url, atMs: nowMs })
  const before = await readFile(data.file)
  expect(await endpointsOf(data)).toEqual([
    expect.stringMatching(/^ok: Webhook 12 answered its challenge within .* It is at http:/),
  ])
  receiver.passesChallenges = false
  expect(await endpointsOf(data)).toEqual([
    expect.stringMatching(/^warning: Webhook 12 failed its challenge: the endpoint responded with status 200 and /),
  ])
  expect(await readFile(data.file)).toEqual(before)
})

test("an endpoint that is down is a warning, and so is an invalid one", async () => {
  await using data = await examinedData({ url: "http://127.0.0.1:9/hook", atMs: nowMs })
  expect(await endpointsOf(data)).toEqual([
    expect.stringMatching(/^warning: Webhook 12 failed its challenge: the endpoint could not be asked: .*ECONNREFUSED/),
  ])
  data.change("UPDATE webhooks SET valid = 0, invalid_reason = 'responded with 410 Gone'")
  expect(await endpointsOf(data)).toEqual([
    "warning: Webhook 12 is not valid, so nothing is sent to it: the endpoint responded with 410 Gone. " +
      "It is at http://127.0.0.1:9/hook",
  ])
})

test("endpoints of a store that dev did not create are challenged as serve does: not on this machine", async () => {
  await using receiver = await WebhookReceiver.start(examinedSecret)
  await using data = await examinedData({ url: receiver.url, atMs: nowMs })
  expect(await endpointsOf(data, false)).toEqual([expect.stringMatching(/^warning: .*only https is accepted/)])
})

test("endpoints of a store that cannot be read are not challenged, and that is reported", async () => {
  await using data = await examinedData({ atMs: nowMs })
  await writeFile(data.file, notAStore)
  expect(await endpointsOf(data)).toEqual([expect.stringMatching(/^warning: They are not challenged/)])
})

test("writes of a server during the examination are no error", async () => {
  await using data = await examinedData({ atMs: nowMs })
  const server = new Worker(new URL("examined-writer.testing.ts", import.meta.url), { workerData: data.file })
  const ended = once(server, "exit")
  try {
    await once(server, "message")
    const accepted = new Set<number | undefined>()
    for (let round = 0; round < 25; round += 1) {
      const found = await examineOffline(data)
      expect(texts(found, "error")).toEqual([])
      accepted.add(found.proof?.posts.accepted)
    }
    // It did write meanwhile.
    expect(accepted.size).toBeGreaterThan(5)
  } finally {
    server.postMessage("end")
    await ended
  }
})

test("a copy elsewhere can be examined without the index of its write-ahead log", async () => {
  await using data = await examinedData({ atMs: nowMs })
  using writer = new DatabaseSync(data.file)
  writer.exec("UPDATE totals SET posts_accepted = 11; UPDATE totals SET posts_accepted = 10")
  await using copy = await examinedData({ atMs: nowMs })
  await copyFile(data.file, copy.file)
  await copyFile(`${data.file}-wal`, `${copy.file}-wal`)
  await copyFile(join(data.path, "master.key"), join(copy.path, "master.key"))
  expect(texts(await examineOffline(copy), "error")).toEqual([])
})
