/** The API calls that benches make for the app they measure with. */
import { request as httpRequest } from "node:http"
import { paths } from "../packages/api/src/paths.ts"
import { createClient, type ClientOptions } from "../packages/client/src/index.ts"

/** An app on a server. */
export type MeasuredApp = Pick<ClientOptions, "url" | "token">

/** Sends NDJSON. Throws unless all of these posts are new. */
export async function sendPosts(app: MeasuredApp, body: string | Buffer, posts: number): Promise<void> {
  const { accepted } = await createClient(app).request("POST", "posts", { body })
  if (accepted !== posts) throw new Error(`only ${accepted} of ${posts} posts were accepted`)
}

/** Adds rules, a thousand at a time. */
export async function addRules(app: MeasuredApp, values: readonly string[]): Promise<void> {
  for (let from = 0; from < values.length; from += 1_000) {
    const add = values.slice(from, from + 1_000).map((value) => ({ value }))
    const { meta } = await createClient(app).request("POST", "rules", { body: { add } })
    if (meta.summary["created"] !== add.length) throw new Error("not every rule was created")
  }
}

/** Registers each URL as a webhook and links it, 4 at a time. Returns the webhooks' ids in no order. */
export async function linkWebhooks(app: MeasuredApp, urls: readonly string[], query = ""): Promise<readonly string[]> {
  const client = createClient(app)
  const ids: string[] = []
  await sideBySide(urls, async (url) => {
    const { data } = await client.request("POST", "webhooks", { body: { url } })
    await client.request("POST", "link", { parameters: { webhook_id: data.id }, query })
    ids.push(data.id)
  })
  return ids
}

/** Challenges the webhooks again. Throws unless each result is `valid`. */
export async function revalidate(app: MeasuredApp, ids: readonly string[], valid: boolean): Promise<void> {
  const client = createClient(app)
  await sideBySide(ids, async (id) => {
    const { data } = await client.request("PUT", "webhook", { parameters: { webhook_id: id } })
    if (data.valid !== valid) throw new Error(`webhook ${id} is ${valid ? "not valid" : "valid"}`)
  })
}

/** Values of metrics, summed over their labels, by name. */
export async function metrics({ url }: MeasuredApp): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(url + paths.metrics)).text()
  const values = new Map<string, number>()
  for (const line of text.split("\n")) {
    const [, name, value] = /^([a-z_0-9]+)(?:\{[^}]*\})? (\S+)$/.exec(line) ?? []
    if (name !== undefined) values.set(name, (values.get(name) ?? 0) + Number(value))
  }
  return values
}

/** The interval at which the server looks at its event loop, which a lag of nothing shows. Source: prom-client, default metrics. */
const loopTimerMs = 10

/** The 99th percentile of the lag of the server's event loop since the metrics were read before, in milliseconds. */
export async function loopLagMs(app: MeasuredApp): Promise<number> {
  const seconds = (await metrics(app)).get("nodejs_eventloop_lag_p99_seconds") ?? Number.NaN
  return 1_000 * seconds - loopTimerMs
}

/** Posts sent as they come, in one body without an end. */
export interface Feed {
  /** Lines of NDJSON. */
  write(lines: string): void
  /** Ends the body and waits for the end of the response. */
  end(): Promise<void>
}

/** Opens a body without an end. Calls `acknowledged` with the number of its durable posts each time it grows. */
export function openFeed({ url, token }: MeasuredApp, acknowledged: (posts: number) => void): Feed {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" }
  const request = httpRequest(`${url}${paths.posts}?ack=batch`, { method: "POST", headers })
  request.on("error", reject)
  request.on("response", (response) => {
    let text = ""
    let posts = 0
    response.setEncoding("utf8")
    response.on("data", (chunk: string) => {
      text += chunk
      const lines = text.split("\n")
      text = lines.pop() ?? ""
      for (const line of lines) {
        const report = JSON.parse(line) as { accepted?: number; done?: true; errors?: unknown }
        if (report.errors !== undefined) reject(new Error(line))
        if (report.done === true || report.accepted === undefined) continue
        posts += report.accepted
        acknowledged(posts)
      }
    })
    response.on("end", resolve)
    response.on("error", reject)
  })
  request.flushHeaders()
  return {
    write(lines) {
      request.write(lines)
    },
    end() {
      request.end()
      return ended
    },
  }
}

/** Runs the work for all items, 4 at a time: an app may have 5 challenges in flight. */
async function sideBySide<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values()
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: 4 }, worker))
}
