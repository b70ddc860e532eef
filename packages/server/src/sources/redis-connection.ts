/** A connection to Redis, whose replies are bytes: posts need not be text. It is never taken up again once it is lost. */
import { readFileSync } from "node:fs"
import { createClient, ErrorReply, RESP_TYPES } from "redis"
import type { RedisSourceSettings } from "./redis-settings.ts"

/** A reply: a bulk text is bytes, a status is text. */
export type RedisReply = Buffer | string | number | null | readonly RedisReply[]

/** A connection. */
export interface RedisConnection extends Disposable {
  /** Sends a command. Rejects with the error of the server, or when the connection is lost. */
  send(...command: readonly (string | Buffer | number)[]): Promise<RedisReply>
}

/** Longest wait for a server that is connected to. Ours: less than a server may take to close. */
const connectMsMax = 5_000

/** Time between two pings, and the longest silence of a connection before it counts as lost. Ours. */
const pingMs = 5_000
const silenceMsMax = 15_000

/** Connects, under a name by which the server lists it. Throws when the server cannot be reached or refuses. */
export async function connectRedis(settings: RedisSourceSettings, name: string): Promise<RedisConnection> {
  const password = settings.password?.()
  const client = createClient({
    RESP: 2,
    socket: socketOptions(settings),
    database: Number(new URL(settings.url).pathname.slice(1)),
    ...(settings.username !== undefined && { username: settings.username }),
    ...(password !== undefined && { password }),
    name,
    pingInterval: pingMs,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
  })
  // Every command that the loss concerns rejects, too.
  client.on("error", () => undefined)
  const close = (): void => {
    if (client.isOpen) client.destroy()
  }
  try {
    await client.connect()
  } catch (error) {
    close()
    throw error
  }
  return {
    send: async (...command) => {
      const words = command.map((word) => (typeof word === "number" ? String(word) : word))
      return client.sendCommand<RedisReply>(words, { typeMapping })
    },
    [Symbol.dispose]: close,
  }
}

/** True for an error that the server has sent and that begins so; false for a lost connection. */
export function isRefusal(error: unknown, begin = ""): boolean {
  return error instanceof ErrorReply && error.message.startsWith(begin)
}

const typeMapping = { [RESP_TYPES.BLOB_STRING]: Buffer }

function socketOptions({ url, caFile }: RedisSourceSettings) {
  const { protocol, hostname, port } = new URL(url)
  const host = hostname.replaceAll(/^\[|\]$/g, "")
  const common = {
    host,
    ...(port !== "" && { port: Number(port) }),
    connectTimeout: connectMsMax,
    socketTimeout: silenceMsMax,
    reconnectStrategy: false as const,
  }
  if (protocol !== "rediss:") return common
  return { ...common, tls: true as const, ...(caFile !== undefined && { ca: readFileSync(caFile) }) }
}
