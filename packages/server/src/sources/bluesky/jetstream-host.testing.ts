/** A Jetstream that sends the same frames to everyone who connects, and frames of posts. */
import { startJetstream } from "./jetstream-server.testing.ts"

/** A running one. */
export interface JetstreamHost extends AsyncDisposable {
  /** Its address, such as `ws://127.0.0.1:4711/subscribe`. */
  readonly url: string
  /** The queries of the connections so far. */
  readonly queries: readonly URLSearchParams[]
  /** Sends a frame to everyone who is connected, and to those who connect later. */
  send(frame: string | Uint8Array): void
}

/** Starts one on 127.0.0.1. */
export async function startJetstreamHost(...first: readonly string[]): Promise<JetstreamHost> {
  const frames: (string | Uint8Array)[] = [...first]
  const server = await startJetstream({
    onConnect(socket) {
      for (const frame of frames) socket.send(frame)
      return false
    },
  })
  return {
    url: server.url,
    queries: server.queries,
    send(frame) {
      frames.push(frame)
      server.sendRaw(frame)
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

const digits = "234567abcdefghijklmnopqrstuvwxyz"

/** The TID of a time, Unix ms, with a number below it. Source: AT Protocol, "TID". */
export function tidAt(atMs: number, number = 0): string {
  let rest = ((BigInt(atMs) * 1_000n) << 10n) | BigInt(number)
  let text = ""
  for (let at = 0; at < 13; at += 1) {
    text = digits.charAt(Number(rest % 32n)) + text
    rest /= 32n
  }
  return text
}

/** The author of the frames. */
const author = "did:plc:z72i7hdynmk6r22z27h6tvur"

/** The name of a post of a frame. */
export function nameOfPost(rkey: string): string {
  return `at://${author}/app.bsky.feed.post/${rkey}`
}

/** The frame of a post that is written at a time, or with `rev` of its later version. */
export function postFrame(text: string, atMs: number, { rkey = tidAt(atMs), rev = "" } = {}): string {
  const record = { $type: "app.bsky.feed.post", text, createdAt: new Date(atMs).toISOString(), langs: ["en"] }
  const commit = {
    rev: rev === "" ? rkey : rev,
    operation: rev === "" ? "create" : "update",
    collection: "app.bsky.feed.post",
    rkey,
    record,
    cid: "bafyreihzwtbyfwtjqqdqzjxlcshctvlb7cz7qy3xk2kvk7f4x7m2l5jmju",
  }
  return JSON.stringify({ did: author, time_us: atMs * 1_000, kind: "commit", commit })
}
