/** A Jetstream in a separate process, which sends posts as fast as they are read. */
import { setTimeout as sleep } from "node:timers/promises"
import type { WebSocket } from "ws"
import { startJetstream } from "../packages/server/src/sources/bluesky/jetstream-server.testing.ts"
import { BlueskyFrames } from "./bluesky-frames.ts"
import { replyToEach } from "./child.ts"

/** A command to it. */
export type JetstreamMessage =
  /** Reply: `url`, its address. */
  | { readonly kind: "url" }
  /** Makes the frames of so many posts, one for each millisecond from a Unix time in ms. Reply: nothing. */
  | { readonly kind: "make"; readonly posts: number; readonly fromMs: number }
  /** Begins to send them, once a client is connected. Reply: nothing. */
  | { readonly kind: "send" }

/** Bytes that may wait for the client, as those of a server that waits for slow readers. */
const unsentBytesMax = 4_000_000

const recorded = new BlueskyFrames()
let frames: readonly string[] = []
let client: WebSocket | undefined
let connected = Promise.withResolvers<void>()

const server = await startJetstream({
  onConnect(socket) {
    client = socket
    connected.resolve()
    socket.once("close", () => {
      connected = Promise.withResolvers()
    })
    return true
  },
})

replyToEach<JetstreamMessage>(async (message) => {
  switch (message.kind) {
    case "url":
      return { url: server.url }
    case "make":
      frames = Array.from({ length: message.posts }, (_, at) => recorded.post(message.fromMs + at))
      return {}
    case "send":
      await connected.promise
      if (client !== undefined) void sendAll(client)
      return {}
  }
})

async function sendAll(socket: WebSocket): Promise<void> {
  for (const frame of frames) {
    socket.send(frame)
    while (socket.bufferedAmount > unsentBytesMax) await sleep(1)
  }
}
