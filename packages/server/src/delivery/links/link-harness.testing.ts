/** A store with an app, a webhook and a link, and an endpoint, for tests of delivery. */
import { randomBytes } from "node:crypto"
import type { AppId, LinkId, MatchSeq, PostId, WebhookId } from "../../model/ids.ts"
import type { Retry } from "../../model/link.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Events, LinksMeasured } from "../../runtime/events/events.ts"
import type { Outbound, OutboundRequest, OutboundResult } from "../../runtime/outbound/outbound.ts"
import { systemRandom } from "../../runtime/random.ts"
import { createSecretBox } from "../../runtime/secret-box.ts"
import { openTestedStore } from "../../store/tested-store.testing.ts"
import type { Store } from "../../store/store.ts"
import { temporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"

/** Secrets of the harness's store. */
export const harnessSecretBox = createSecretBox(randomBytes(32), systemRandom)

/** The consumer secret of every app on the harness. */
export const harnessConsumerSecret = "the consumer secret"

/** The signing key of every webhook on the harness. */
export const harnessSigningKey = randomBytes(32)

/** A store of its own, with ways to fill it. */
export interface LinkHarness extends AsyncDisposable {
  readonly store: Store
  addApp(id: string): Promise<void>
  /** A webhook and its link, which has the id of the webhook. */
  addLink(app: string, id: string, url: string, query?: string): Promise<void>
  /** Posts of these ids, each matched by a rule of the app. */
  post(app: string, ...ids: readonly string[]): Promise<void>
  /** A post with a text of this many bytes. */
  postLarge(app: string, id: string, bytes: number): Promise<void>
  /** Everything up to here is delivered, by what the store has of the link. */
  deliveredUpTo(id: string): Promise<MatchSeq | undefined>
  /** Position and retries of the link, as the store has them. */
  progress(id: string): Promise<{ position: MatchSeq; retries: readonly Retry[] } | undefined>
}

/** Makes a harness with an app "1". */
export async function makeLinkHarness(): Promise<LinkHarness> {
  const directory = await temporaryDirectory()
  const store = await openTestedStore(directory.path)
  const harness: LinkHarness = {
    store,
    async addApp(id) {
      const app = {
        id: id as AppId,
        name: `app ${id}`,
        businessUserId: `${id}1`,
        instanceId: `${id}2`,
        consumerKey: `key-${id}`,
        consumerSecretSealed: harnessSecretBox.seal(harnessConsumerSecret),
        generation: 1,
        createdAtMs: 0,
        revoked: false,
      }
      await store.createApp(app, [])
    },
    async addLink(app, id, url, query = "") {
      const appId = app as AppId
      const webhookId = id as WebhookId
      const signingKeySealed = harnessSecretBox.seal(`whsec_${harnessSigningKey.toString("base64")}`)
      const webhook = {
        id: webhookId,
        appId,
        url,
        createdAtMs: 0,
        valid: true,
        checkedAtMs: 0,
        signingKeySealed,
      }
      await store.createWebhook(webhook, { webhooksMax: 1_000 })
      await store.createLink({ id: id as LinkId, appId, webhookId, createdAtMs: 0, query })
    },
    post: (app, ...ids) => append(store, app, ids, (id) => `post ${id}`),
    postLarge: (app, id, bytes) => append(store, app, [id], () => "x".repeat(bytes)),
    async deliveredUpTo(id) {
      const progress = await harness.progress(id)
      if (progress === undefined) return undefined
      const [oldest] = progress.retries
      return oldest === undefined ? progress.position : ((oldest.seq - 1) as MatchSeq)
    },
    async progress(id) {
      const link = (await store.allLinks()).find((each) => each.id === id)
      if (link === undefined) return undefined
      const retries = await store.retries(link.id, "core")
      return {
        position: link.position,
        retries: retries.map(({ seq, failures, dueAtMs }) => ({ seq, failures, dueAtMs })),
      }
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]()
      await directory.remove()
    },
  }
  await harness.addApp("1")
  return harness
}

async function append(
  store: Store,
  app: string,
  ids: readonly string[],
  textOf: (id: string) => string,
): Promise<void> {
  const batch = ids.map((id) => {
    const text = textOf(id)
    const core = JSON.stringify({ id, text })
    const data = { id, text, author_id: "7", lang: "en" }
    const envelope = JSON.stringify({ data, includes: { users: [{ id: "7", name: "A", username: "a" }] } })
    const flags = { isReply: false, isRepost: false, userIds: [], users: [], includedIds: [] }
    return {
      post: { id: id as PostId, createdAtMs: 0, core: Buffer.from(core), envelope: Buffer.from(envelope), ...flags },
      matches: [{ appId: app as AppId, rules: [{ id: "5", tag: "t" }] }],
    }
  })
  await store.append(batch, 1_767_225_600_000)
}

/** The store with some of its methods in other hands. */
export function withMethods(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(methods, name)
      if (own !== undefined) return own
      const value: unknown = Reflect.get(target, name)
      return typeof value === "function" ? value.bind(target) : value
    },
  })
}

/** Ids "1" to `count`. */
export function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index + 1))
}

/** A delivery that an endpoint is at work on. */
interface Received {
  readonly postId: string
  readonly eventId: string
  readonly request: OutboundRequest
  respond(status: number, retryAfter?: string): void
  fail(outcome?: FailureOutcome): void
}

type FailureOutcome = Extract<OutboundResult, { kind: "failure" }>["outcome"]

/** How an endpoint responds: with a status, perhaps with `Retry-After`; or not, for this reason. */
export type ScriptedResponse =
  | number
  | { readonly status: number; readonly retryAfter: string }
  | { readonly failure: FailureOutcome }

/** An outbound whose endpoints are in the hands of the test. */
export interface ScriptedOutbound extends Outbound {
  /** Everything that was sent, in order. */
  readonly received: Received[]
  /** Requests without a response yet, in the order of sending. */
  readonly open: Received[]
  readonly openMax: number
  /** Responds by itself, from now on and to what is open; `undefined` leaves a delivery open. */
  respondToAll(response: (received: Received) => ScriptedResponse | undefined): void
}

/** An outbound that does not respond until the test lets it. */
export function createScriptedOutbound(): ScriptedOutbound {
  const received: Received[] = []
  const open: Received[] = []
  let openMax = 0
  let responseTo: (one: Received) => ScriptedResponse | undefined = () => undefined
  const respondBy = (one: Received): void => {
    const response = responseTo(one)
    if (response === undefined) return
    if (typeof response === "number") one.respond(response)
    else if ("failure" in response) one.fail(response.failure)
    else one.respond(response.status, response.retryAfter)
  }
  return {
    received,
    open,
    get openMax() {
      return openMax
    },
    respondToAll(next) {
      responseTo = next
      for (const one of open.slice()) respondBy(one)
    },
    send(request) {
      const { promise, resolve } = Promise.withResolvers<OutboundResult>()
      const finish = (result: OutboundResult): void => {
        open.splice(open.indexOf(one), 1)
        resolve(result)
      }
      const one: Received = {
        postId: /"id":"(\d+)"/.exec(String(request.body))?.[1] ?? "",
        eventId: request.headers?.["webhook-id"] ?? "",
        request,
        respond: (code, retryAfter) =>
          finish({ kind: "response", status: code, body: "", ...(retryAfter !== undefined && { retryAfter }) }),
        fail: (outcome = "connect") => finish({ kind: "failure", outcome, detail: outcome }),
      }
      received.push(one)
      open.push(one)
      openMax = Math.max(openMax, open.length)
      respondBy(one)
      return promise
    },
    close: () => Promise.resolve(),
  }
}

/** Events of delivery that a test looks at. */
export interface RecordedEvents extends Events {
  readonly failures: { readonly where: string; readonly error: unknown }[]
  readonly outcomes: string[]
  /** Event ids of what became dead letters, with their outcomes. */
  readonly deadLettered: string[]
  /** Webhooks whose endpoints went `down` or came `up`. */
  readonly turns: string[]
  /** Webhooks that turned `valid` or `invalid`. */
  readonly webhookTurns: string[]
  /** Absent where they could not be measured. */
  readonly measured: (LinksMeasured | undefined)[]
}

/** Events that are kept and not logged. */
export function createRecordedEvents(): RecordedEvents {
  const failures: { where: string; error: unknown }[] = []
  const outcomes: string[] = []
  const deadLettered: string[] = []
  const turns: string[] = []
  const webhookTurns: string[] = []
  const measured: (LinksMeasured | undefined)[] = []
  const nothing = (): void => undefined
  return {
    failures,
    outcomes,
    deadLettered,
    turns,
    webhookTurns,
    measured,
    failed: (event) => void failures.push(event),
    attemptFinished: ({ outcome }) => void outcomes.push(outcome),
    requestFinished: nothing,
    connectionCut: nothing,
    logLineDropped: nothing,
    postsAccepted: nothing,
    deletionsRequested: nothing,
    rulesIndexed: nothing,
    rulesSkipped: nothing,
    matchDeadLettered: ({ eventId, outcome }) => void deadLettered.push(`${eventId} ${outcome}`),
    endpointStateChanged: ({ webhookId, isDown }) => void turns.push(`${webhookId} ${isDown ? "down" : "up"}`),
    webhookTested: nothing,
    webhookValidityChanged: ({ webhookId, valid }) =>
      void webhookTurns.push(`${webhookId} ${valid ? "valid" : "invalid"}`),
    linksMeasured: (event) => void measured.push(event),
    linksNotMeasured: () => void measured.push(undefined),
    recordsDamaged: nothing,
    gapMade: nothing,
    replayStarted: nothing,
    replayEnded: nothing,
    clockChecked: nothing,
    retentionPassed: nothing,
    challengeFinished: nothing,
    streamOpened: nothing,
    streamClosed: nothing,
    sourceStarted: nothing,
    sourceConnected: nothing,
    sourceDisconnected: nothing,
    sourceMessagesDone: nothing,
    sourceMessageDeadLettered: nothing,
    sourceMessagesReturned: nothing,
    sourceMessageRedelivered: nothing,
    sourceMeasured: nothing,
    sourceNotMeasured: nothing,
    sourceGapFound: nothing,
    sourceNoticed: nothing,
    storedUsersBegun: nothing,
    storedUsersTaken: nothing,
    databaseWarned: nothing,
    serverReady: nothing,
    serverClosing: nothing,
  }
}

/** A clock that runs as the given one and sleeps a thousandth of the time. */
export function hurried(clock: Clock): Clock {
  return { ...clock, sleep: (ms, signal) => clock.sleep(ms / 1_000, signal) }
}
