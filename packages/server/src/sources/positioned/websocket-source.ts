/** Messages of a WebSocket as a source of posts: each message is an item. */
import { readOnce, type SettingsReader } from "../settings.ts"
import { hasCursor, headersAt, textAt, urlAt } from "./cursor-template.ts"
import { MissedTime } from "./missed-time.ts"
import { feedMapper, itemBytesMax } from "./feed-mapper.ts"
import { readFeedSettings, type FeedSettings } from "./feed-settings.ts"
import type { FeedDeps } from "./http-source.ts"
import { readItems } from "./item-flow.ts"
import { openWebSocket } from "./web-socket.ts"
import { itemBytesKept, tooLong, type SourceItem } from "../mapping/source-item.ts"
import type { RecordReader } from "./positioned-source.ts"

/** Settings of a source of this kind. */
export interface WebSocketSettings extends FeedSettings {
  /** The first message to the server; may hold `{cursor}` within a string of JSON. */
  readonly firstMessage: string | undefined
}

/** Reads the settings. Throws an `Error` that continues "The source NAME". */
export function readWebSocketSettings(settings: SettingsReader): WebSocketSettings {
  const socket: WebSocketSettings = {
    ...readFeedSettings(settings, ["wss:", "ws:"], "wss://feed.example.com/live?since={cursor}"),
    firstMessage: settings.script("firstMessage"),
  }
  settings.noOthers()
  return socket
}

/** A reader of the source, whose mapping `checkMapping` has accepted. */
export function createWebSocketReader(settings: WebSocketSettings, deps: FeedDeps): RecordReader {
  readOnce([settings.headers])
  const mapper = feedMapper(settings.mapping, deps.postBytesMax)
  const missed = new MissedTime(deps.clock)
  const bytesMax = itemBytesMax(settings.mapping, deps.postBytesMax)
  return {
    read: (position, sink, signal) =>
      readItems(mapper, sink, signal, async (flow) => {
        missed.reading(sink)
        const cursor = position ?? settings.start
        const headers = settings.headers()
        const isReplayed =
          cursor !== undefined && hasCursor(settings.url, settings.firstMessage, ...Object.values(headers))
        await using socket = await openWebSocket(
          {
            url: urlAt(settings.url, cursor),
            headers: headersAt(headers, cursor),
            posture: deps.posture,
            ...(deps.resolve !== undefined && { resolve: deps.resolve }),
            clock: deps.clock,
            silenceMsMax: settings.silenceMsMax,
          },
          signal,
        )
        if (settings.firstMessage !== undefined) socket.send(textAt(settings.firstMessage, cursor))
        sink.connected(socket.host)
        await missed.connected(sink, isReplayed)
        try {
          for await (const { bytes } of socket) await flow.take(itemOf(bytes, bytesMax))
        } finally {
          missed.lost(socket.takenUntilMs)
        }
      }),
    [Symbol.asyncDispose]: () => mapper[Symbol.asyncDispose](),
  }
}

function itemOf(bytes: Buffer, bytesMax: number): SourceItem {
  if (bytes.length <= bytesMax) return { bytes }
  return { bytes: bytes.subarray(0, itemBytesKept), fault: tooLong(bytes.length, bytesMax) }
}
