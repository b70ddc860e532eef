/**
 * A server whose store holds a text in every place that a text can be in: a post, its repost, its quotes, a dead letter, a
 * delivery that an endpoint has still to get, responses that repeat what they received, and replays that run or wait.
 */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { snowflakeEpochMs } from "@sluice/api"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { AppClient, waitFor } from "./app-client.ts"
import { SluiceClient } from "../oracle/sluice-client.ts"

/** Settings with which a match that fails becomes a dead letter soon. */
export const deletionSettings = {
  SLUICE_DELIVERY_ATTEMPTS_MAX: "2",
  SLUICE_RETRY_SECONDS_MAX: "1",
} as const

/** The post whose text is the marker, and those that show it. */
export interface DeletablePosts {
  readonly post: string
  readonly repost: string
  readonly quotes: readonly string[]
}

let given = 0

/** An id of this moment. */
export function newPostId(): string {
  given += 1
  return String((BigInt(Date.now() - 1_000 - snowflakeEpochMs) << 22n) + BigInt(given))
}

/** Lines of a post whose text is the marker, of a repost and of quotes. */
export function deletableLines(marker: string, quotes: number): DeletablePosts & { readonly lines: readonly string[] } {
  const [post, repost] = [newPostId(), newPostId()]
  const quoteIds = Array.from({ length: quotes }, () => newPostId())
  const data = {
    id: post,
    author_id: "77",
    text: `a heron ${marker} #${marker}tag @${marker}user https://${marker}.example/path`,
    entities: { hashtags: [{ start: 1, end: 2, tag: `${marker}tag` }] },
  }
  const envelope = (id: string, type: "quoted" | "retweeted", text: string): unknown => ({
    data: { id, author_id: "78", text, referenced_tweets: [{ type, id: post }] },
    includes: { tweets: [data], users: [{ id: "77", name: "Author", username: "author77" }] },
  })
  const lines = [
    { data },
    envelope(repost, "retweeted", `RT @author77: a heron ${marker}`),
    ...quoteIds.map((id) => envelope(id, "quoted", "a heron is quoted")),
  ].map((line) => JSON.stringify(line))
  return { post, repost, quotes: quoteIds, lines }
}

/** Requests with the token of the operator. */
function operatorOf(readyLine: string): SluiceClient {
  const { url, operator_token: token } = JSON.parse(readyLine) as { url: string; operator_token: string }
  return new SluiceClient(url, token)
}

/** Deletes posts and users in the name of the operator. */
export async function requestDeletion(
  readyLine: string,
  ids: { readonly post_ids?: readonly string[]; readonly user_ids?: readonly string[] },
): Promise<{ readonly posts_deleted: number; readonly users_deleted: number }> {
  const { data } = await operatorOf(readyLine).json("POST", "/sluice/v1/deletions", ids)
  return data as { posts_deleted: number; users_deleted: number }
}

/** The ids of posts that an app is shown with a text, in any way. */
export async function showing(app: AppClient, { post, repost, quotes }: DeletablePosts, marker: string) {
  const ids = [post, repost, ...quotes]
  const found = new Set<string>()
  for (let at = 0; at < ids.length; at += 100) {
    const some = ids.slice(at, at + 100).join(",")
    const { text } = await app.send("GET", `/2/tweets?ids=${some}&expansions=referenced_tweets.id`)
    const { data = [], includes = {} } = JSON.parse(text) as {
      data?: readonly { id: string; text: string; referenced_tweets?: readonly { id: string }[] }[]
      includes?: { tweets?: readonly { id: string; text: string }[] }
    }
    const shown = new Set((includes.tweets ?? []).filter((one) => one.text.includes(marker)).map(({ id }) => id))
    for (const { id, text: own, referenced_tweets: others = [] } of data) {
      if (own.includes(marker) || others.some((other) => shown.has(other.id))) found.add(id)
    }
  }
  const { text: search } = await app.send("GET", `/2/tweets/search/all?query=${marker}`)
  if (search.includes(marker)) found.add("search")
  return [...found]
}

/** The endpoints of the apps's links, each in another state. */
export class Endpoints implements AsyncDisposable {
  /** Gets all, and repeats it in its responses. */
  readonly echo: WebhookReceiver
  /** Refuses the marker's post. */
  readonly refusing: WebhookReceiver
  /** Gets nothing, until its webhook is validated again. */
  readonly down: WebhookReceiver
  /** Holds what a replay sends it. */
  readonly replayed: WebhookReceiver
  /** The webhooks, in the order of the fields. */
  readonly ids: readonly string[]

  private constructor(
    receivers: readonly [WebhookReceiver, WebhookReceiver, WebhookReceiver, WebhookReceiver],
    ids: readonly string[],
  ) {
    ;[this.echo, this.refusing, this.down, this.replayed] = receivers
    this.ids = ids
  }

  /** Starts and links them. */
  static async link(app: AppClient, marker: string): Promise<Endpoints> {
    const start = (): Promise<WebhookReceiver> => WebhookReceiver.start(app.consumerSecret)
    const receivers = await Promise.all([start(), start(), start(), start()])
    const ids: string[] = []
    for (const { url } of receivers) {
      const { data } = (await app.json("POST", "/2/webhooks", { url })) as { data: { id: string } }
      await app.json("POST", `/2/tweets/search/webhooks/${data.id}?expansions=referenced_tweets.id`)
      ids.push(data.id)
    }
    const endpoints = new Endpoints(receivers, ids)
    endpoints.echo.echoes = true
    endpoints.refusing.statusOf = ({ body }) => (body.includes(marker) ? 500 : 200)
    // The first delivery invalidates the webhook: all wait, and none becomes a dead letter.
    endpoints.down.statusOf = () => 410
    return endpoints
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const receiver of [this.echo, this.refusing, this.down, this.replayed]) await receiver[Symbol.asyncDispose]()
  }
}

/** Waits until a webhook has so many dead letters. Others must arrive meanwhile, or its endpoint counts as down. */
export async function untilDead(app: AppClient, webhookId: string, count: number): Promise<void> {
  await waitFor(
    async () => {
      await app.ingest([JSON.stringify({ data: { id: newPostId(), author_id: "79", text: "another heron" } })])
      return (await app.linkState(webhookId)).total
    },
    ({ dead_letters: dead }) => dead === count,
  )
}

/** Files of a directory that hold a text. */
export function holders(directory: string, text: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => {
    const path = join(directory, name)
    try {
      return statSync(path).isFile() && readFileSync(path).includes(text)
    } catch (error) {
      // A file of the write-ahead log comes and goes.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return false
      throw error
    }
  })
}
