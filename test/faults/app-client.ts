/** The app of a server under test, through the public API alone. */
import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import { SluiceClient, type SluiceResponse } from "../oracle/sluice-client.ts"

/** The state of a link, as far as these tests need it. */
export interface LinkState {
  readonly webhook_id: string
  readonly valid: boolean
  readonly position: number
  readonly head: number
  readonly total: {
    readonly delivered: number
    readonly retrying: number
    readonly dead_letters: number
    readonly expired: number
    readonly missed: number
    readonly withdrawn: number
  }
  readonly gaps: readonly { readonly from: number; readonly to: number }[]
}

/** The counts in the response to a body of posts. */
export interface Counts {
  readonly accepted: number
  readonly duplicates: number
}

/** Time between two reads of a value that the test waits for. */
const pollEveryMs = 50

/** Longest wait. On a shared machine much takes four times as long. */
const waitMsMax = 80_000

/** Requests in the name of the app of one life of a server. */
export class AppClient {
  readonly url: string
  readonly id: string
  readonly token: string
  readonly consumerSecret: string
  readonly #client: SluiceClient

  /** Reads the line that the server prints when it is ready. */
  constructor(readyLine: string) {
    const { url, app } = JSON.parse(readyLine) as {
      url: string
      app: { application_id: string; bearer_token: string; consumer_secret: string }
    }
    this.url = url
    this.id = app.application_id
    this.token = app.bearer_token
    this.consumerSecret = app.consumer_secret
    this.#client = new SluiceClient(url, app.bearer_token)
  }

  send(...request: Parameters<SluiceClient["send"]>): Promise<SluiceResponse> {
    return this.#client.send(...request)
  }

  json(...request: Parameters<SluiceClient["json"]>): Promise<Record<string, unknown>> {
    return this.#client.json(...request)
  }

  /** Tries to add a rule whose tag is its value. */
  addRule(value: string): Promise<SluiceResponse> {
    const text = JSON.stringify({ add: [{ value, tag: value }] })
    return this.send("POST", "/2/tweets/search/stream/rules", { type: "application/json", text })
  }

  /** Makes a webhook and links it; returns the webhook's id. */
  async link(url: string): Promise<string> {
    const { data } = (await this.json("POST", "/2/webhooks", { url })) as { data: { id: string } }
    await this.json("POST", `/2/tweets/search/webhooks/${data.id}`)
    return data.id
  }

  /** Ingests lines; returns any response. */
  tryIngest(lines: readonly string[]): Promise<SluiceResponse> {
    const text = lines.map((line) => `${line}\n`).join("")
    return this.send("POST", "/sluice/v1/posts", { type: "application/x-ndjson", text })
  }

  /** Ingests lines, which must be accepted. */
  async ingest(lines: readonly string[]): Promise<Counts> {
    const response = await this.tryIngest(lines)
    assert(response.status === 200, `${response.status} ${response.text}`)
    const { accepted, duplicates } = JSON.parse(response.text) as Counts
    return { accepted, duplicates }
  }

  /** Ids of a user's posts, newest first, all pages. */
  async postIds(userId: string): Promise<readonly string[]> {
    const ids: string[] = []
    let position = ""
    for (;;) {
      const page = (await this.json("GET", `/2/users/${userId}/tweets?max_results=100${position}`)) as {
        data?: readonly { id: string }[]
        meta?: { next_token?: string }
      }
      ids.push(...(page.data ?? []).map(({ id }) => id))
      if (page.meta?.next_token === undefined) return ids
      position = `&pagination_token=${page.meta.next_token}`
    }
  }

  async linkState(webhookId: string): Promise<LinkState> {
    const { data } = (await this.json("GET", "/sluice/v1/links")) as { data: readonly LinkState[] }
    const state = data.find(({ webhook_id: id }) => id === webhookId)
    assert(state !== undefined, `no link to ${webhookId}`)
    return state
  }

  /** Returns the state of a link once the store accounts for all of its matches after `firstPosition`. */
  async caughtUp(webhookId: string, firstPosition = 0): Promise<LinkState> {
    return waitFor(
      () => this.linkState(webhookId),
      ({ position, head, total: { delivered, retrying, dead_letters: dead, expired, missed, withdrawn } }) =>
        position === head && retrying === 0 && delivered + dead + expired + missed + withdrawn === head - firstPosition,
    )
  }
}

/** Reads until the value satisfies the condition. On a timeout, throws the last value. */
export async function waitFor<Found>(
  read: () => Promise<Found> | Found,
  isThere: (found: Found) => boolean,
  msMax: number = waitMsMax,
): Promise<Found> {
  const startedAtMs = performance.now()
  for (;;) {
    const found = await read()
    if (isThere(found)) return found
    assert(performance.now() - startedAtMs < msMax, `still so after ${msMax} ms: ${JSON.stringify(found)}`)
    await sleep(pollEveryMs)
  }
}

/** The envelope of a post, as a line. */
export function postLine(id: number | bigint, text: string, authorId = "7"): string {
  return JSON.stringify({ data: { id: String(id), text, author_id: authorId } })
}
