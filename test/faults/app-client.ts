/** The app of a server under test, by the contract alone. */
import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import { SluiceClient, type Answer } from "../oracle/sluice-client.ts"

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
  }
  readonly gaps: readonly { readonly from: number; readonly to: number }[]
}

/** What became of a body of posts. */
export interface Counts {
  readonly accepted: number
  readonly duplicates: number
}

/** Between two reads of something that is waited for. */
const pollEveryMs = 50

/** Longest that anything is waited for. On a machine that is shared much may take four times as long. */
const waitMsMax = 80_000

/** Requests in the name of the app of one life of a server. */
export class AppClient {
  readonly url: string
  readonly id: string
  readonly token: string
  readonly consumerSecret: string
  readonly #client: SluiceClient

  /** From the line that the server prints when it is ready. */
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

  send(...request: Parameters<SluiceClient["send"]>): Promise<Answer> {
    return this.#client.send(...request)
  }

  json(...request: Parameters<SluiceClient["json"]>): Promise<Record<string, unknown>> {
    return this.#client.json(...request)
  }

  /** Tries to add a rule whose tag is its value. */
  addRule(value: string): Promise<Answer> {
    const text = JSON.stringify({ add: [{ value, tag: value }] })
    return this.send("POST", "/2/tweets/search/stream/rules", { type: "application/json", text })
  }

  /** Makes a webhook and links it: the webhook's id. */
  async link(url: string): Promise<string> {
    const { data } = (await this.json("POST", "/2/webhooks", { url })) as { data: { id: string } }
    await this.json("POST", `/2/tweets/search/webhooks/${data.id}`)
    return data.id
  }

  /** Ingests lines; the response, whatever it is. */
  tryIngest(lines: readonly string[]): Promise<Answer> {
    const text = lines.map((line) => `${line}\n`).join("")
    return this.send("POST", "/sluice/v1/posts", { type: "application/x-ndjson", text })
  }

  /** Ingests lines, which must be accepted. */
  async ingest(lines: readonly string[]): Promise<Counts> {
    const answer = await this.tryIngest(lines)
    assert(answer.status === 200, `${answer.status} ${answer.text}`)
    const { accepted, duplicates } = JSON.parse(answer.text) as Counts
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

  /** The state of a link once all of its matches, from after `firstPosition` on, are accounted for in the store. */
  async caughtUp(webhookId: string, firstPosition = 0): Promise<LinkState> {
    return waitFor(
      () => this.linkState(webhookId),
      ({ position, head, total: { delivered, retrying, dead_letters: dead, expired, missed } }) =>
        position === head && retrying === 0 && delivered + dead + expired + missed === head - firstPosition,
    )
  }
}

/** Reads until what it reads is as it must be. Throws what it read last when that takes too long. */
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
