import { connectionAdvice } from "./connection-advice.ts"
import { RedisTooOld } from "./redis-group.ts"
import type { RedisSourceSettings } from "./redis-settings.ts"

/** The advice for each error of a server, by the beginning of its message. Source: Redis documentation, "Errors". */
const adviceByReply: readonly (readonly [begin: string, advice: (settings: RedisSourceSettings) => string])[] = [
  ["WRONGPASS", () => "Correct the username, or the password in the file or variable that the settings name."],
  ["NOAUTH", () => "The server requires a password: set passwordFile or passwordVariable."],
  [
    "NOPERM",
    ({ stream, deadLetterStream }) =>
      `Allow the user the keys ${stream} and ${deadLetterStream}, and the commands that docs/sources.md lists.`,
  ],
  ["WRONGTYPE", ({ stream }) => `The key ${stream} holds no stream: name another key in stream, or delete this one.`],
  ["NOGROUP", ({ stream }) => `The group or the stream ${stream} was deleted: Sluice makes both again.`],
  ["UNBLOCKED", ({ stream }) => `The stream ${stream} was deleted: Sluice makes it again.`],
  ["OOM", () => "The server has reached its maxmemory: give it more, or trim what it holds."],
  ["READONLY", () => "The server is a replica, which accepts no writes: set url to the primary."],
  ["LOADING", () => "The server reads its data set from the disk: wait until it is done."],
  [
    "MOVED",
    () => "The server is part of a cluster: set url to the node that holds the stream, and keep all keys on it.",
  ],
  ["ERR DB index", () => "The server has fewer databases: correct the number at the end of url."],
  ["ERR unknown command", () => "Redis 7.0 or newer is needed."],
]

/** A sentence that says what to do about a failure; `undefined` when none is known. */
export function redisAdvice(error: unknown, settings: RedisSourceSettings): string | undefined {
  if (error instanceof RedisTooOld) return "Use Redis 7.0 or newer, or Valkey: older ones do not count what is read."
  if (!(error instanceof Error)) return undefined
  const found = adviceByReply.find(([begin]) => error.message.startsWith(begin))
  return found?.[1](settings) ?? connectionAdvice(error)
}
