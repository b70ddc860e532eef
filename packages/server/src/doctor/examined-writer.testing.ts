/** A thread that delivers without end on the data of `examined-data.testing.ts`, as a server does, until it is ended. */
import { parentPort, workerData } from "node:worker_threads"
import { postId } from "./examined-data.testing.ts"
import type { AppId, LinkId, MatchSeq } from "../model/ids.ts"
import { openEmbeddedStore } from "../store/embedded/serving/embedded-store.ts"

const appId = "5" as AppId
const linkId = "7" as LinkId

await using store = await openEmbeddedStore({ file: String(workerData) })
const end = new AbortController()
parentPort?.once("message", () => end.abort())

/** Moves the link on to this match, and says that it and those before are delivered. */
async function deliver(upTo: number, delivered: number): Promise<void> {
  const seq = upTo as MatchSeq
  const [atMs, outcome] = [Date.now(), "delivered" as const]
  await store.recordAttempts([{ linkId, seq, atMs, durationMs: 1, bytes: 1, outcome }], { keptPerLink: 50 })
  await store.saveProgress([{ linkId, position: seq, retries: [], settled: [], dead: [], delivered }])
}

await deliver(10, 2)
for (let number = 11; !end.signal.aborted; number += 1) {
  const post = {
    id: postId(number),
    createdAtMs: Date.now(),
    isReply: false,
    isRepost: false,
    core: Buffer.from("{}"),
    envelope: Buffer.from("{}"),
    userIds: [],
    users: [],
    includedIds: [],
  }
  await store.append([{ post, matches: [{ appId, rules: [{ id: "3", tag: "" }] }] }], Date.now())
  await deliver(number, 1)
  parentPort?.postMessage(number)
}
