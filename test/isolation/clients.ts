/**
 * The clients of a cluster, which send posts, change rules, read lists and receive deliveries, and record what they
 * see.
 */
import { createHash, createHmac } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import type { SluiceResponse } from "../oracle/sluice-client.ts"
import type { Seen } from "./history.ts"

/** Dependencies of clients. */
export interface ClientDeps {
  readonly history: Seen[]
  readonly random: () => number
  /** Sends a request to any process; rejects without a response. */
  readonly send: (
    method: "GET" | "POST",
    path: string,
    body?: { type: string; text: string },
  ) => Promise<SluiceResponse>
  /** The same in the name of the operator. */
  readonly sendAsOperator: ClientDeps["send"]
}

/** A word of every post, so that every post matches its rule. */
const word = "tide"
const authorIds = ["5001", "5002", "5003"]
const postsPerBody = 5
const retryMs = 100

/** First milliseconds of a snowflake, of 2026-01-01. */
const firstId = BigInt(1_767_225_600_000 - 1_288_834_974_657) << 22n

/**
 * Sends a request until it gets a response other than 503. Returns the response, and whether the outcome of an earlier
 * attempt is unknown.
 */
async function persist(
  { send }: ClientDeps,
  ...request: Parameters<ClientDeps["send"]>
): Promise<{ response: SluiceResponse; isDoubtful: boolean }> {
  let isDoubtful = false
  for (;;) {
    try {
      const response = await send(...request)
      if (response.status !== 503) return { response, isDoubtful }
    } catch {
      // The lines below retry it.
    }
    // A 503 leaves doubt too: it may follow a commit whose response was lost.
    isDoubtful = true
    await sleep(retryMs)
  }
}

/** Sends posts until aborted; `lane` keeps the ids of several senders apart. */
export async function sendPosts(deps: ClientDeps, lane: number, signal: AbortSignal): Promise<void> {
  for (let body = 0; !signal.aborted; body += 1) {
    const authorId = authorIds[(body + lane) % authorIds.length] ?? ""
    const numbers = Array.from({ length: postsPerBody }, (_, index) => (body * postsPerBody + index) * 16 + lane)
    const postIds = numbers.map((number) => String(firstId + (BigInt(number) << 10n)))
    const lines = postIds.map(
      (id) => `${JSON.stringify({ data: { id, text: `the ${word} ${id}`, author_id: authorId } })}\n`,
    )
    const sentMs = performance.now()
    const { response } = await persist(deps, "POST", "/sluice/v1/posts", {
      type: "application/x-ndjson",
      text: lines.join(""),
    })
    if (response.status === 200)
      deps.history.push({ kind: "accepted", postIds, authorId, sentMs, doneMs: performance.now() })
    else wrong(deps, `posts got ${response.status}: ${response.text}`)
    await sleep(deps.random() * 200)
  }
}

/** Adds pairs of rules, and deletes each a while later, until aborted. */
export async function changeRules(deps: ClientDeps, signal: AbortSignal): Promise<void> {
  let before: { readonly pair: number; readonly values: readonly string[] } | undefined
  for (let pair = 1; !signal.aborted; pair += 1) {
    const rules = ["a", "b"].map((half) => ({ value: `${word} -no${pair}${half}`, tag: `${pair}:${half}` }))
    await changePair(deps, pair, "add", { add: rules })
    await sleep(500 + deps.random() * 1_500)
    if (before !== undefined) await changePair(deps, before.pair, "delete", { delete: { values: before.values } })
    before = { pair, values: rules.map(({ value }) => value) }
    await sleep(500 + deps.random() * 1_500)
  }
}

async function changePair(deps: ClientDeps, pair: number, change: "add" | "delete", body: object): Promise<void> {
  const sentMs = performance.now()
  const { response, isDoubtful } = await persist(deps, "POST", "/2/tweets/search/stream/rules", {
    type: "application/json",
    text: JSON.stringify(body),
  })
  // An earlier attempt may have succeeded: then the rules already exist, or are gone.
  if (response.status > 299 && !isDoubtful)
    return wrong(deps, `a change of rules got ${response.status}: ${response.text}`)
  deps.history.push({ kind: "rules", change, pair, sentMs, doneMs: performance.now(), isDoubtful })
}

/** Deletes some of the accepted posts, and sends them again, until aborted. */
export async function deletePosts(deps: ClientDeps, signal: AbortSignal): Promise<void> {
  const { history, random } = deps
  const json = "application/json"
  for (let from = 0; !signal.aborted;) {
    await sleep(500 + random() * 1_500)
    // Some of the posts that were accepted since the last turn are delivered by now, others not.
    const accepted = history.slice(from).filter((seen) => seen.kind === "accepted")
    from = history.length
    const one = accepted[Math.floor(random() * accepted.length)]
    if (one === undefined) continue
    const postIds = one.postIds.filter(() => random() < 0.5)
    if (postIds.length === 0) continue
    const body = { type: json, text: JSON.stringify({ post_ids: postIds }) }
    const { response } = await persist({ ...deps, send: deps.sendAsOperator }, "POST", "/sluice/v1/deletions", body)
    if (response.status !== 200) wrong(deps, `a deletion got ${response.status}: ${response.text}`)
    else history.push({ kind: "deleted", postIds, doneMs: performance.now() })
    const lines = postIds.map((id) =>
      JSON.stringify({ data: { id, text: `the ${word} ${id}`, author_id: one.authorId } }),
    )
    const again = await persist(deps, "POST", "/sluice/v1/posts", {
      type: "application/x-ndjson",
      text: `${lines.join("\n")}\n`,
    })
    const { accepted: stored } = JSON.parse(again.response.text) as { readonly accepted?: number }
    if (stored !== 0) wrong(deps, `deleted posts were sent again, and the response was ${again.response.text}`)
  }
}

/** Reads lists of posts to their end, page after page, until aborted. */
export async function readLists(deps: ClientDeps, signal: AbortSignal): Promise<void> {
  for (let turn = 0; !signal.aborted; turn += 1) {
    await readList(deps, authorIds[turn % authorIds.length] ?? "")
    await sleep(200 + deps.random() * 800)
  }
}

/** Reads every list once, at the end. */
export async function readAllLists(deps: ClientDeps): Promise<void> {
  for (const authorId of authorIds) await readList(deps, authorId)
}

async function readList(deps: ClientDeps, authorId: string): Promise<void> {
  const beganMs = performance.now()
  const postIds: string[] = []
  let position = ""
  do {
    const { response } = await persist(deps, "GET", `/2/users/${authorId}/tweets?max_results=100${position}`)
    // Other processes refuse a page token of a process whose clock is an hour ahead, and so the list has no end.
    if (response.status === 400 && /still to come|expired/.test(response.text)) return
    if (response.status !== 200) return wrong(deps, `a page got ${response.status}: ${response.text}`)
    const page = JSON.parse(response.text) as {
      readonly data?: readonly { readonly id: string }[]
      readonly meta?: { readonly next_token?: string }
    }
    postIds.push(...(page.data ?? []).map(({ id }) => id))
    position = page.meta?.next_token === undefined ? "" : `&pagination_token=${page.meta.next_token}`
  } while (position !== "")
  deps.history.push({ kind: "listed", authorId, postIds, beganMs })
}

/** Makes the rule that every post matches, and the links. */
export async function prepare(deps: ClientDeps, urls: readonly string[]): Promise<readonly string[]> {
  const json = async (path: string, body: object): Promise<{ readonly data?: { readonly id?: string } }> => {
    const { status, text } = await deps.send("POST", path, { type: "application/json", text: JSON.stringify(body) })
    if (status > 299) throw new Error(`${path} returned ${status}: ${text}`)
    return JSON.parse(text) as { readonly data?: { readonly id?: string } }
  }
  await json("/2/tweets/search/stream/rules", { add: [{ value: word, tag: "always" }] })
  const ids: string[] = []
  for (const url of urls) {
    const { data } = await json("/2/webhooks", { url })
    const id = data?.id ?? ""
    await json(`/2/tweets/search/webhooks/${id}`, {})
    ids.push(id)
  }
  return ids
}

/** Receives deliveries; refuses a few of them. */
export class Receiver implements AsyncDisposable {
  readonly #server: Server
  readonly #deps: Pick<ClientDeps, "history" | "random">
  readonly #secret: string

  static async start(deps: Pick<ClientDeps, "history" | "random">, consumerSecret: string): Promise<Receiver> {
    const receiver = new Receiver(deps, consumerSecret)
    receiver.#server.listen(0, "127.0.0.1")
    await once(receiver.#server, "listening")
    return receiver
  }

  private constructor(deps: Pick<ClientDeps, "history" | "random">, consumerSecret: string) {
    this.#deps = deps
    this.#secret = consumerSecret
    this.#server = createServer((request, response) => {
      this.#respond(request, response).catch(() => response.destroy())
    })
  }

  url(link: number): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${link}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close")
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://receiver")
    if (request.method === "GET") {
      const challenge = searchParams.get("crc_token") ?? ""
      const signature = createHmac("sha256", this.#secret).update(challenge).digest("base64")
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ response_token: `sha256=${signature}` }))
      return
    }
    const body = Buffer.concat((await request.toArray()) as Buffer[])
    const { data, matching_rules: rules } = JSON.parse(body.toString()) as {
      readonly data: { readonly id: string }
      readonly matching_rules: readonly { readonly tag: string }[]
    }
    const isTaken = this.#deps.random() > 0.02
    this.#deps.history.push({
      kind: "delivered",
      link: Number(pathname.slice(1)),
      eventId: String(request.headers["webhook-id"]),
      postId: data.id,
      hash: createHash("sha256").update(body).digest("base64url"),
      tags: rules.map(({ tag }) => tag),
      isTaken,
      atMs: performance.now(),
    })
    await sleep(this.#deps.random() * 30)
    response.writeHead(isTaken ? 200 : 500).end()
  }
}

function wrong({ history }: ClientDeps, what: string): void {
  history.push({ kind: "wrong", what })
}
