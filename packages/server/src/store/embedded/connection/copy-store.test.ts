import { existsSync } from "node:fs"
import { mkdir, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { afterEach, beforeEach, expect, test } from "vitest"
import { addLink, anApp, aPost, app } from "../../contract/fixtures.ts"
import {
  temporaryDirectory,
  type TemporaryDirectory,
} from "../../../../../../test/support/temporary-directory.testing.ts"
import { audited } from "../serving/audited.testing.ts"
import { openEmbeddedStore } from "../serving/embedded-store.ts"
import { embeddedEngine } from "../engine.ts"

let directory: TemporaryDirectory
let to: string

beforeEach(async () => {
  directory = await temporaryDirectory()
  to = join(directory.path, "copy")
  await mkdir(to)
})

afterEach(() => directory.remove())

const posts = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    post: aPost(String(first + index), undefined, { envelope: "x".repeat(16_000) }),
    matches: [],
  }))

test("a copy is of one moment and comes to its end, however fast posts are written", async () => {
  const file = join(directory.path, "sluice.db")
  await using store = await openEmbeddedStore({ file })
  // Several steps of a copy.
  await store.append(posts(1, 1_000), 1)
  const copied = embeddedEngine(directory.path).files.copyTo(to)
  let written = 1_000
  while ((await Promise.race([copied?.then(() => "copied"), setImmediate("not yet")])) !== "copied") {
    await store.append(posts(written + 1, 1), 1)
    written += 1
  }
  expect(written).toBeGreaterThan(1_002)
  const { damage, posts: found } = await audited(join(to, "sluice.db"))
  expect(damage).toEqual([])
  expect(found.stored).toBeGreaterThanOrEqual(1_000)
  expect(found.stored).toBeLessThan(written)
})

test("a copy replaces one that was cut short, is private, and leaves nothing next to a closed store", async () => {
  const file = join(directory.path, "sluice.db")
  {
    await using store = await openEmbeddedStore({ file })
    await store.append(posts(1, 3), 1)
  }
  await writeFile(join(to, "sluice.db"), "half", { mode: 0o644 })
  await embeddedEngine(directory.path).files.copyTo(to)
  expect((await audited(join(to, "sluice.db"))).posts.stored).toBe(3)
  expect((await stat(join(to, "sluice.db"))).mode & 0o777).toBe(0o600)
  expect([`${file}-wal`, `${file}-shm`].filter((path) => existsSync(path))).toEqual([])
})

test("a copy begins one epoch when it is opened to write, another copy another one, and the original none", async () => {
  const engine = embeddedEngine(directory.path)
  const epochsIn = async (at: string): Promise<readonly string[]> => {
    await using store = await openEmbeddedStore({ file: join(at, "sluice.db") })
    return (await store.allLinks()).flatMap(({ epochs = [] }) => epochs.map(({ epoch }) => epoch))
  }
  {
    await using store = await openEmbeddedStore({ file: join(directory.path, "sluice.db") })
    await store.createApp(anApp(app), [])
    await addLink(store, app, { linkId: "31", webhookId: "1" })
  }
  await engine.files.copyTo(to)
  const first = await epochsIn(to)
  expect(first).toEqual([expect.stringMatching(/^[0-9a-f]{12}$/)])
  expect(await epochsIn(to)).toEqual(first)
  await engine.files.copyTo(to)
  const second = await epochsIn(to)
  expect(second).toHaveLength(1)
  expect(second).not.toEqual(first)
  expect(await epochsIn(directory.path)).toEqual([])
})

test("a file that is not a store is not copied", async () => {
  await writeFile(join(directory.path, "sluice.db"), "no store".repeat(1_000))
  await expect(embeddedEngine(directory.path).files.copyTo(to)).rejects.toMatchObject({ code: "STORE_DAMAGED" })
})
