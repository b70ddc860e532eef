/** A server that takes a number of posts from a source each time it is asked, and says how fast. */
import { loadConfig, startServer } from "../packages/server/src/index.ts"
import { createRabbitMqSource } from "../packages/server/src/sources/rabbitmq.ts"
import type { RabbitMqSourceSettings } from "../packages/server/src/sources/rabbitmq-settings.ts"
import { createRedisSource } from "../packages/server/src/sources/redis.ts"
import type { RedisSourceSettings } from "../packages/server/src/sources/redis-settings.ts"
import type { AcknowledgedSourceDeps, Source, SourcesDeps } from "../packages/server/src/sources/source.ts"
import { replyToEach } from "./child.ts"

/** The source to take posts from. */
export type TakenSource =
  | { readonly kind: "redis"; readonly settings: RedisSourceSettings }
  | { readonly kind: "rabbitmq"; readonly settings: RabbitMqSourceSettings }

/** Asks for so many posts. */
export interface TakeMessage {
  readonly posts: number
  readonly source: TakenSource
}

const [, , data = ""] = process.argv
const flags = { port: "0", data, search: "off", "log-level": "error" }

let found: SourcesDeps | undefined
const started = startServer(loadConfig({ posture: "dev", flags, env: {} }), {
  moreSources(deps) {
    found = deps
    return []
  },
})

replyToEach<TakeMessage>(async ({ posts, source }) => {
  await started
  if (found === undefined) throw new Error("The server has made no sources.")
  const { intake, monitorOf } = found
  const allDone = Promise.withResolvers<void>()
  let left = posts
  const deps = {
    ...found,
    monitor: monitorOf("bench"),
    intake: {
      open: ((onBatch, matchUse) =>
        intake.open((report) => {
          onBatch?.(report)
          left -= report.accepted
          if (left <= 0) allDone.resolve()
        }, matchUse)) satisfies SourcesDeps["intake"]["open"],
    },
  }
  const ending = new AbortController()
  const startMs = performance.now()
  const running = sourceOf(source, deps).run(ending.signal)
  await allDone.promise
  const perSecond = (posts / (performance.now() - startMs)) * 1_000
  ending.abort()
  await running
  return { perSecond }
})

function sourceOf(source: TakenSource, deps: AcknowledgedSourceDeps): Source {
  return source.kind === "redis"
    ? createRedisSource(source.settings, deps)
    : createRabbitMqSource(source.settings, deps)
}
