/** The contract of readers, kept by those of feeds and by the example of docs/sources/writing.md. */
import { appendFile, readFile, truncate, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { TcpProxy } from "../../../../../test/support/tcp-proxy.testing.ts"
import { temporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"
import { systemClock } from "../../runtime/clock.ts"
import { SettingsReader } from "../settings.ts"
import { checkSource } from "../source-kinds.ts"
import { peerKinds, startPeer, type PeerKind } from "../source-peers.testing.ts"
import { createFileReader, readFileSettings } from "./file-source.testing.ts"
import { testReaders, type ReadSource } from "./reader-contract.testing.ts"
import { driven } from "./reading.testing.ts"

const deps = { clock: systemClock, posture: { allowPrivate: true }, postBytesMax: 262_144 }

/** A peer behind a proxy that cuts connections. */
async function openPeer(kind: PeerKind): Promise<ReadSource> {
  await using opening = new AsyncDisposableStack()
  const peer = opening.use(await startPeer(kind))
  const proxy = opening.use(await TcpProxy.to(peer.port))
  const [members] = peer.settingsAt(proxy.port).sources
  const { createReader } = await checkSource(kind, members ?? {}, {})
  if (createReader === undefined) throw new Error(`A source of ${kind} has no reader.`)
  let given = 0
  const opened = opening.move()
  return {
    reader: () => createReader(deps),
    async give(items) {
      await peer.give(given + 1, given + items)
      given += items
    },
    cut() {
      proxy.set("cut")
      proxy.set("good")
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const kinds = await peerKinds()
for (const kind of ["http", "websocket", "outbox"] as const) {
  if (kinds.includes(kind)) testReaders(kind, () => openPeer(kind))
}

async function openFile(): Promise<ReadSource & { readonly path: string }> {
  const directory = await temporaryDirectory()
  const path = join(directory.path, "posts.ndjson")
  await writeFile(path, "")
  const mapping = '{ "uri": "file:" & id, "text": "heron" }'
  const settings = readFileSettings(new SettingsReader({ name: "feed", type: "file", path, mapping }, {}))
  let last = 0
  return {
    path,
    reader: () => createFileReader({ ...settings, pollMs: 10 }, deps),
    async give(items) {
      const ids = Array.from({ length: items }, (_, at) => last + at + 1)
      last += items
      await appendFile(path, ids.map((id) => `${JSON.stringify({ id })}\n`).join(""))
    },
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  }
}

testReaders("the example of a source", openFile)

test("the example of a source marks a gap when the file was cut", async () => {
  await using source = await openFile()
  await source.give(10)
  await using reader = driven(await source.reader())
  await expect.poll(() => reader.lines.length).toBe(10)
  await truncate(source.path, 0)
  await source.give(2)
  await expect.poll(() => reader.lines.length).toBe(12)
  expect(reader.gaps).toHaveLength(1)
})

test("the page on writing a source shows the example as it is", async () => {
  const page = await readFile(new URL("../../../../../docs/sources/writing.md", import.meta.url), "utf8")
  const [, shown] = /```ts\n(\/\*\*[\s\S]*?)```/.exec(page) ?? []
  expect(shown).toBe(await readFile(new URL("file-source.testing.ts", import.meta.url), "utf8"))
})
