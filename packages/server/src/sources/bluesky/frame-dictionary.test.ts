/** Compressed frames, from servers that speak Jetstream's wire. */
import { zstdCompressSync } from "node:zlib"
import { paths } from "@sluice/api"
import { expect, test } from "vitest"
import { openStream } from "../../../../../test/support/open-stream.testing.ts"
import { sourceState, startServerWith } from "../server-with-sources.testing.ts"
import { metric } from "../stored-ids.testing.ts"
import { blueskySettings } from "./bluesky-source.ts"
import { decompressedFrame } from "./frame-dictionary.ts"
import { madeDictionary } from "./frame-dictionary.testing.ts"
import { postCommit, startJetstream } from "./jetstream-server.testing.ts"

const sky = (url: string) => ({ name: "sky", type: "bluesky", urls: [url], compression: true })

const frameBytesMax = 2_000_000

test("posts come in frames that are compressed with the dictionary of the host, and go on when it has another one", async () => {
  await using jetstream = await startJetstream({ dictionary: madeDictionary(7) })
  await using server = await startServerWith([sky(jetstream.xrpcUrl)])
  await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
  await using reader = await openStream(server)
  await expect.poll(() => jetstream.open).toBe(1)
  jetstream.emit(postCommit("a heron", Date.now() * 1_000))
  expect((await reader.next()).data.text).toBe("a heron")
  expect(jetstream.queries[0]?.get("zstdDictionary")).toBe("7")
  jetstream.changeDictionary(madeDictionary(8))
  jetstream.cut()
  await expect.poll(() => jetstream.open).toBe(0)
  jetstream.emit(postCommit("a second heron", Date.now() * 1_000))
  expect((await reader.next()).data.text).toBe("a second heron")
  expect(jetstream.queries.at(-1)?.get("zstdDictionary")).toBe("8")
})

test("a frame that cannot be decompressed, or would be too large, is a dead letter, and ends nothing", async () => {
  const dictionary = madeDictionary(7)
  await using jetstream = await startJetstream({ dictionary })
  await using server = await startServerWith([sky(jetstream.xrpcUrl)])
  await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
  await using reader = await openStream(server)
  await expect.poll(() => jetstream.open).toBe(1)
  jetstream.sendRaw(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0xff))
  jetstream.sendRaw(zstdCompressSync(Buffer.alloc(1 << 28, " "), { dictionary }))
  jetstream.sendRaw(zstdCompressSync("no JSON", { dictionary }))
  jetstream.emit(postCommit("a heron", Date.now() * 1_000))
  expect((await reader.next()).data.text).toBe("a heron")
  await expect.poll(() => metric(server, 'sluice_source_messages_total{source="sky",outcome="rejected"}')).toBe(3)
  expect(jetstream.queries).toHaveLength(1)
})

test("a host without a dictionary is a failure that says what to do", async () => {
  await using jetstream = await startJetstream()
  await using server = await startServerWith([sky(jetstream.xrpcUrl)])
  const advice = expect.stringContaining("Remove the setting compression")
  await expect.poll(() => sourceState(server, "sky")).toMatchObject({ last_error: { advice } })
  expect(jetstream.queries).toEqual([])
})

test("a frame that would have a gigabyte is given up at its bound", () => {
  const dictionary = { id: 7, bytes: madeDictionary(7) }
  const small = zstdCompressSync("a heron", { dictionary: dictionary.bytes })
  expect(decompressedFrame(small, dictionary, frameBytesMax)?.toString()).toBe("a heron")
  const bomb = zstdCompressSync(Buffer.alloc(1 << 30), { dictionary: dictionary.bytes })
  const before = process.memoryUsage().rss
  expect(decompressedFrame(bomb, dictionary, frameBytesMax)).toBeUndefined()
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
})

test("compression of the frozen endpoint is refused", () => {
  const members = { name: "sky", type: "bluesky", urls: ["wss://a.example/subscribe"], compression: true }
  expect(() => blueskySettings(members, {})).toThrow(/address of \/subscribe/)
})
