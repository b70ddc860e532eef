/** The schedule of challenges on a clock of the test, over a real store and to a real endpoint. */
import { createHmac } from "node:crypto"
import { expect } from "vitest"
import { createApps } from "../../packages/server/src/control/apps.ts"
import { createWebhookRegistry } from "../../packages/server/src/control/webhooks/webhook-registry.ts"
import { soleLeases } from "../../packages/server/src/store/leases.ts"
import { asId } from "../../packages/server/src/model/ids.ts"
import type { Events } from "../../packages/server/src/runtime/events/events.ts"
import { createManualClock } from "../../packages/server/src/runtime/manual-clock.testing.ts"
import { createOutbound, type Outbound } from "../../packages/server/src/runtime/outbound/outbound.ts"
import { responseBytesMax } from "../../packages/server/src/runtime/outbound/outbound-connections.ts"
import { systemRandom } from "../../packages/server/src/runtime/random.ts"
import { createSecretBox } from "../../packages/server/src/runtime/secret-box.ts"
import { createSnowflakes } from "../../packages/server/src/runtime/snowflakes.ts"
import { openTestedStore } from "../../packages/server/src/store/tested-store.testing.ts"
import { listening } from "./listening.testing.ts"
import { temporaryDirectory } from "./temporary-directory.testing.ts"

const stepMs = 30 * 60_000

/** The endpoint's reaction to a challenge. */
type Endpoint = "right" | "wrong" | "redirect" | "tls" | "large" | "down"

/** A running schedule with one webhook, valid at first. */
export interface RunningSchedule extends AsyncDisposable {
  endpoint: Endpoint
  /** Challenges since the webhook was registered, those of `validate` included. */
  readonly challenges: number
  /** Advances the clock, half an hour at a time. */
  pass(ms: number): Promise<void>
  isValid(): Promise<boolean>
  validate(): Promise<{ valid: boolean }>
}

/** Starts one. */
export async function runningSchedule(): Promise<RunningSchedule> {
  await using resources = new AsyncDisposableStack()
  const directory = resources.use(await temporaryDirectory())
  const store = resources.use(await openTestedStore(directory.path))
  const clock = createManualClock()
  const deps = {
    store,
    secretBox: createSecretBox(systemRandom.bytes(32), systemRandom),
    clock,
    snowflakes: createSnowflakes(clock, systemRandom),
    random: systemRandom,
  }
  const credentials = await createApps(deps).create("test")
  const [app] = await store.apps()
  if (app === undefined) throw new Error("the app is gone")

  const state = { endpoint: "right" as Endpoint, challenges: 0 }
  const endpoint = resources.use(
    await listening((request, response) => {
      const challenge = new URL(request.url ?? "", "http://endpoint").searchParams.get("crc_token") ?? ""
      const rightToken = `sha256=${createHmac("sha256", credentials.consumer_secret).update(challenge).digest("base64")}`
      response.statusCode = { redirect: 302, down: 503 }[state.endpoint as string] ?? 200
      if (state.endpoint === "redirect") response.setHeader("location", "/elsewhere")
      const isRight = state.endpoint === "right" || state.endpoint === "large"
      const body = JSON.stringify({ response_token: isRight ? rightToken : "sha256=wrong" })
      response.end(state.endpoint === "large" ? body.padEnd(responseBytesMax + 1) : body)
    }),
  )
  const real = createOutbound({ allowPrivate: true })
  resources.defer(() => real.close())
  const outbound: Outbound = {
    send(request) {
      state.challenges += 1
      // The endpoint speaks no TLS.
      const url = state.endpoint === "tls" ? request.url.replace("http:", "https:") : request.url
      return real.send({ ...request, url })
    },
    close: () => real.close(),
  }
  const quiet = {
    challengeFinished: () => undefined,
    webhookValidityChanged: () => undefined,
    failed: expect.unreachable,
  }
  const registry = createWebhookRegistry({
    ...deps,
    leases: soleLeases,
    outbound,
    events: quiet as unknown as Events,
    allowPrivate: true,
    webhooksPerAppMax: 1,
    challengesPerAppMax: 450,
    attemptMsMax: 10_000,
    attemptResponseBytesMax: 1_024,
    signingKeyGraceMs: 0,
  })
  const { id } = await registry.create(app, endpoint.url)
  state.challenges = 0
  const stop = new AbortController()
  const ended = registry.runSchedule(stop.signal)
  resources.defer(async () => {
    stop.abort()
    await ended
  })
  const running = resources.move()
  return {
    get endpoint() {
      return state.endpoint
    },
    set endpoint(kind) {
      state.endpoint = kind
    },
    get challenges() {
      return state.challenges
    },
    async pass(ms) {
      for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
        await expect.poll(() => clock.sleepers, { interval: 1 }).toBe(1)
        await clock.advance(stepMs)
      }
      await expect.poll(() => clock.sleepers, { interval: 1 }).toBe(1)
    },
    isValid: async () => (await registry.list(app.id))[0]?.valid === true,
    validate: async () => ({ valid: await registry.validate(app, asId(id)) }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
