import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  nameOfPost,
  postFrame,
  startJetstreamHost,
  tidAt,
  type JetstreamHost,
} from "../../../server/src/sources/bluesky/jetstream-host.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run, startDev, type Run } from "../command.testing.ts"

const resources = new AsyncDisposableStack()
const nowMs = Date.now()
const frame = postFrame("A heron on the weir", nowMs - 120_000)
let host: JetstreamHost
let directory: string
let config: string

beforeAll(async () => {
  directory = resources.use(await temporaryDirectory()).path
  host = resources.use(await startJetstreamHost(frame, "{ broken"))
  config = join(directory, "sluice.yaml")
  await writeFile(config, `sources: [{ name: sky, type: bluesky, urls: "${host.url}" }]`)
  resources.use(await startDev(join(directory, ".sluice"), { SLUICE_CONFIG: config }))
})

afterAll(() => resources.disposeAsync())

const sluice = (...args: string[]): Promise<Run> => run(["sources", ...args], { cwd: directory })

async function json(...args: string[]): Promise<unknown> {
  const { status, stdout, stderr } = await sluice(...args, "--json")
  expect({ status, stderr }).toMatchObject({ status: 0 })
  return JSON.parse(stdout)
}

test("sources are listed and shown", async () => {
  await expect
    .poll(() => json("show", "sky"), { timeout: 10_000 })
    .toMatchObject({ counts: { accepted: 1, rejected: 1 } })
  expect(await json("list")).toMatchObject([{ name: "sky", activity: "running", dead_letters: 1 }])
  const { stdout } = await sluice("list")
  expect(stdout).toMatch(
    /^NAME +TYPE +ACTIVITY +RATE +LATE +DEAD LETTERS +GAPS +LAST ERROR\nsky +bluesky +running +[\d.]+\/s +\d+ min +1 +0\n$/,
  )
  const shown = (await sluice("show", "sky")).stdout
  expect(shown).toMatch(/^name +sky \(bluesky\)\nactivity +running since \d{4}-/)
  expect(shown).toContain(`connected to  ${new URL(host.url).host}\n`)
  expect(shown).toMatch(/^counts +1 accepted, 1 rejected since /m)
  expect(shown).toMatch(/^dead letters +1; the last: Invalid JSON: The record is not JSON/m)
  expect(await sluice("show", "sea")).toMatchObject({ status: 1, stdout: "" })
})

test("a source is paused, resumed and rewound", async () => {
  expect(await json("pause", "sky")).toMatchObject({ activity: "paused" })
  expect((await sluice("resume", "sky")).stdout).toBe("Resumed sky.\n")
  expect((await sluice("rewind", "sky", "--to", "2026-03-14T12:00Z")).stdout).toBe("Rewound sky.\n")
  const future = await sluice("rewind", "sky", "--to", "2999-03-14T12:00Z")
  expect(future).toMatchObject({ status: 1, stdout: "" })
  expect(future.stderr).toContain("is in the future")
  expect(await sluice("rewind", "sky")).toMatchObject({ status: 2 })
  expect(await sluice("rewind", "sky", "--to", "2026-03-14T12:00Z", "--position", "0")).toMatchObject({ status: 2 })
  const position = await sluice("rewind", "sky", "--position", "0")
  expect(position).toMatchObject({ status: 1, stdout: "" })
  expect(position.stderr).toContain("takes no position; name a time")
})

test("dead letters are listed, repeated and discarded", async () => {
  const letters = async () => (await json("dead-letters", "sky")) as { id: string; record: string }[]
  const [first] = await letters()
  expect(first).toMatchObject({ record: "{ broken" })
  expect((await sluice("dead-letters", "sky")).stdout).toMatch(
    /^ID +AT +BYTES +REASON\n[\w-]{36} +\S+Z +8 +Invalid JSON: /,
  )
  const again = await sluice("dead-letters", "sky", first?.id ?? "", "--repeat")
  expect(again.stdout).toBe("Converted 1 dead letter again. 1 record became dead letters again.\n")
  const ids = (await letters()).map(({ id }) => id)
  expect(ids).not.toContain(first?.id)
  const unknown = await sluice("dead-letters", "sky", first?.id ?? "", "none", "--repeat")
  expect(unknown).toMatchObject({ status: 1, stderr: expect.stringContaining("The source sky has no dead letter ") })
  expect(await sluice("dead-letters", "sky", "none")).toMatchObject({ status: 1 })
  expect(await json("dead-letters", "sky", "--discard")).toEqual({ discarded: ids.length })
  expect(await sluice("dead-letters", "sky", "--discard", "--repeat")).toMatchObject({ status: 2 })
})

test("a source is tested without a server: what it is connected to, and what its records become", async () => {
  // As many as a test prints.
  await using five = await startJetstreamHost(frame, "{ broken", frame, frame, frame, frame)
  const file = join(directory, "five.yaml")
  await writeFile(file, `sources: [{ name: sky, type: bluesky, urls: "${five.url}" }]`)
  const tested = await sluice("test", "sky", "--config", file, "--dev")
  expect(tested).toMatchObject({ status: 0 })
  expect(tested.stderr).toContain(`Connected to ${new URL(five.url).host}.`)
  expect(tested.stdout.trim().split("\n")).toHaveLength(5)
  const [post = "", rejected = ""] = tested.stdout.split("\n")
  const envelope = { data: { text: "A heron on the weir", source_uri: nameOfPost(tidAt(nowMs - 120_000)) } }
  expect(JSON.parse(post.replace(/^post +/, ""))).toMatchObject(envelope)
  expect(rejected).toMatch(/^rejected {2}Invalid JSON: The record is not JSON: .* position/)
})

test("a source that may not be reached says why, and what to do", async () => {
  const refused = await sluice("test", "sky", "--config", config)
  expect(refused).toMatchObject({ status: 1, stdout: "" })
  expect(refused.stderr).toMatch(
    /^error: The address of the source .*\n {2}If the address is meant, name it in SLUICE_SOURCE_ALLOW/,
  )
  const wrong = join(directory, "wrong.yaml")
  await writeFile(wrong, "sources:\n  - name: sky\n    type: bluesky\n    colour: blue\n")
  const { status, stderr } = await sluice("test", "sky", "--config", wrong)
  expect(status).toBe(1)
  expect(stderr).toContain(`error: The source sky (${wrong}, line 2) has an unknown member "colour"`)
  expect((await sluice("test", "sea", "--config", config)).stderr).toContain(
    "error: The configuration has no source sea: it lists sky.",
  )
})

test("the records of a file are converted: items, lines, or one value over several lines", async () => {
  const file = join(directory, "sample.json")
  const convert = async (text: string, ...more: string[]): Promise<Run> => {
    await writeFile(file, text)
    return sluice("test", "sky", "--config", config, "--file", file, ...more)
  }
  for (const text of [frame, `${frame}\n${frame}\n`, `[${frame}]`, JSON.stringify(JSON.parse(frame), undefined, 2)]) {
    const { status, stdout } = await convert(text, "--json")
    expect(status).toBe(0)
    const { records } = JSON.parse(stdout) as { records: unknown[] }
    expect(records).toHaveLength(text.startsWith(`${frame}\n`) ? 2 : 1)
    expect(records[0]).toMatchObject({ kind: "post", envelope: { data: { text: "A heron on the weir" } } })
  }
  const broken = await convert('{\n  "did": "a"\n  "time_us": 5\n}')
  expect(broken.status).toBe(1)
  expect(broken.stdout).toMatch(/^rejected {2}Invalid JSON: .*line 3 column 3/)
  expect(broken.stderr).toContain("error: 1 record cannot become a post.")
  const named = await convert(frame.replace('"A heron on the weir"', "7"))
  expect(named.stdout).toContain("Invalid Record: `record.text` is 7, and must be a string.")
})

test("a test of a rule and a sync name clauses that no post of the sources fulfils", async () => {
  const sentence = "warning: has:geo matches no post of the configured sources (sky). These posts have no place."
  expect((await run(["rules", "test", "heron has:geo"], { cwd: directory })).stderr).toContain(sentence)
  const file = join(directory, "rules.yaml")
  await writeFile(file, "- value: heron has:geo\n- value: heron\n")
  for (const options of [["--dry-run"], []]) {
    const synced = await run(["rules", "sync", file, ...options], { cwd: directory })
    expect(synced.status).toBe(0)
    expect(synced.stderr.split("\n").filter((line) => line.startsWith("warning:"))).toEqual([sentence])
  }
})
