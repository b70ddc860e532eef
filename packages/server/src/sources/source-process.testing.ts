/** A whole server with one source, as a process of its own that can be killed; run by itself, the program of it. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { loadConfig } from "../config.ts"
import { startServer } from "../main.ts"
import { callsWith, type Calls } from "./stored-ids.testing.ts"
import { createRabbitMqSource } from "./rabbitmq.ts"
import type { RabbitMqSourceSettings } from "./rabbitmq-settings.ts"
import { createRedisSource, type RedisTimes } from "./redis.ts"
import type { RedisSourceSettings } from "./redis-settings.ts"

/** The source of the process. */
export type ProcessSource =
  | { readonly kind: "redis"; readonly settings: RedisSourceSettings; readonly times?: Partial<RedisTimes> }
  | { readonly kind: "rabbitmq"; readonly settings: RabbitMqSourceSettings }

/** A running one. Disposing of it kills it. */
export interface SourceProcess extends Calls, AsyncDisposable {
  readonly pid: number
  kill(): Promise<void>
}

/** Starts one on the store in `data`. The settings cannot hold secrets. */
export async function startSourceProcess(data: string, source: ProcessSource): Promise<SourceProcess> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), data, JSON.stringify(source)], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  const closed = once(child, "close")
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL")
    await closed
  }
  const line = await Promise.race([once(createInterface({ input: child.stdout }), "line"), closed.then(() => [])])
  if (line.length === 0) throw new Error("The server did not start.")
  const { url, token } = JSON.parse(String(line[0])) as { url: string; token: string }
  return { ...callsWith(url, token), pid: child.pid ?? Number.NaN, kill, [Symbol.asyncDispose]: kill }
}

async function run(data: string, source: ProcessSource): Promise<void> {
  const flags = { port: "0", data, search: "off", "log-level": "silent" }
  const server = await startServer(loadConfig({ posture: "dev", flags, env: {} }), {
    moreSources: ({ monitorOf, ...deps }) => {
      const all = { ...deps, monitor: monitorOf(source.settings.name) }
      if (source.kind === "rabbitmq") return [createRabbitMqSource(source.settings, all)]
      return [createRedisSource(source.settings, all, source.times)]
    },
  })
  const app = await server.apps.create("test")
  console.log(JSON.stringify({ url: server.url, token: app.bearer_token }))
}

const [, program, data, source] = process.argv
if (program === fileURLToPath(import.meta.url) && data !== undefined && source !== undefined) {
  await run(data, JSON.parse(source) as ProcessSource)
}
