/** A webhook registry over a store, whose endpoints give the response that a test chooses. */
import { randomBytes } from "node:crypto"
import type { App } from "../../model/app.ts"
import type { AppId, WebhookId } from "../../model/ids.ts"
import type { Events } from "../../runtime/events/events.ts"
import { createManualClock, type ManualClock } from "../../runtime/manual-clock.testing.ts"
import type { Outbound, OutboundResult } from "../../runtime/outbound/outbound.ts"
import { systemRandom } from "../../runtime/random.ts"
import { createSecretBox } from "../../runtime/secret-box.ts"
import { signature } from "../../runtime/signatures.ts"
import { createSnowflakes } from "../../runtime/snowflakes.ts"
import { openTestedStore } from "../../store/tested-store.testing.ts"
import { soleLeases } from "../../store/leases.ts"
import type { Store } from "../../store/store.ts"
import { createWebhookRegistry, type WebhookRegistry } from "./webhook-registry.ts"
import { temporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"

export const secretBox = createSecretBox(randomBytes(32), systemRandom)
export const hourMs = 3_600_000

/** Response of an endpoint to a challenge; `right` passes it. */
type EndpointResponse = "hanging" | "unsent" | "right" | "wrong" | "redirect" | "tls" | "down" | "silent"

function resultOf(kind: EndpointResponse, url: string): OutboundResult {
  const token = new URL(url).searchParams.get("crc_token") ?? ""
  const body = JSON.stringify({ response_token: signature("consumer secret", token) })
  const respondedWith = (status: number, text = ""): OutboundResult => ({
    kind: "response",
    status,
    body: text,
  })
  if (kind === "right") return respondedWith(200, body)
  if (kind === "wrong") return respondedWith(200, "{}")
  if (kind === "redirect") return respondedWith(302)
  if (kind === "down") return respondedWith(503)
  if (kind === "unsent") return { kind: "failure", outcome: "local_error", detail: "EMFILE" }
  if (kind === "tls") return { kind: "failure", outcome: "tls", detail: "CERT_HAS_EXPIRED" }
  return { kind: "failure", outcome: "timeout", detail: "no response within 10 s" }
}

/** A response that never comes: the request ends when its signal is aborted. */
function neverResponding(signal: AbortSignal | undefined): Promise<OutboundResult> {
  const result: OutboundResult = { kind: "failure", outcome: "timeout", detail: "given up by this server" }
  return new Promise((resolve) => signal?.addEventListener("abort", () => resolve(result)))
}

/** The registry, and what a test may choose and see. */
export interface RegistryHarness extends AsyncDisposable {
  readonly store: Store
  readonly clock: ManualClock
  readonly registry: WebhookRegistry
  readonly app: App
  readonly other: App
  response: EndpointResponse
  /** Every challenge: the URL without its token. */
  challenged: string[]
  /** Events, in order. */
  reported: unknown[]
  /** Registers a webhook of `app`, and forgets that it was challenged. */
  created(url?: string): Promise<WebhookId>
  /** True if the newest webhook of `app` is valid. */
  isValid(): Promise<boolean | undefined>
}

/** A registry with two apps and no webhooks, whose endpoints respond rightly until a test chooses otherwise. */
export async function makeRegistryHarness(): Promise<RegistryHarness> {
  const directory = await temporaryDirectory()
  const store = await openTestedStore(directory.path)
  const [app, other] = [anApp("1"), anApp("2")]
  await store.createApp(app, [])
  await store.createApp(other, [])
  const clock = createManualClock(Date.UTC(2026, 0, 1))
  const outbound: Outbound = {
    send({ url, signal }) {
      at.challenged.push(url.replace(/[?&]crc_token=.*/, ""))
      if (at.response === "hanging") return neverResponding(signal)
      return Promise.resolve(resultOf(at.response, url))
    },
    close: () => Promise.resolve(),
  }
  const expected: Partial<Events> = {
    failed: ({ where }) => void at.reported.push(["failed", where]),
    challengeFinished: ({ outcome, detail }) => void at.reported.push([outcome, detail]),
    webhookValidityChanged: ({ valid }) => void at.reported.push(["turned", valid]),
  }
  const events = new Proxy(expected as Events, {
    get(target, name: keyof Events) {
      if (target[name] === undefined) throw new Error(`not expected: ${name}`)
      return target[name]
    },
  })
  const registry = createWebhookRegistry({
    leases: soleLeases,
    store,
    outbound,
    secretBox,
    snowflakes: createSnowflakes(clock, systemRandom),
    clock,
    random: systemRandom,
    events,
    allowPrivate: false,
    webhooksPerAppMax: 3,
    challengesPerAppMax: 450,
    attemptMsMax: 10_000,
    attemptResponseBytesMax: 1_024,
    signingKeyGraceMs: 24 * hourMs,
  })
  const at: RegistryHarness = {
    store,
    clock,
    registry,
    app,
    other,
    response: "right",
    challenged: [],
    reported: [],
    async created(url = "https://example.com/webhook") {
      const { id } = await registry.create(app, url)
      at.challenged = []
      at.reported = []
      return id
    },
    isValid: async () => (await registry.list(app.id))[0]?.valid,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]()
      await directory.remove()
    },
  }
  return at
}

/** An app whose endpoints know its secret. */
export function anApp(id: string): App {
  return {
    id: id as AppId,
    name: `app ${id}`,
    businessUserId: `${id}1`,
    instanceId: `${id}2`,
    consumerKey: `key-${id}`,
    consumerSecretSealed: secretBox.seal("consumer secret"),
    generation: 1,
    createdAtMs: 0,
    revoked: false,
  }
}
