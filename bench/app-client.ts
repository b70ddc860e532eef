/** What a bench asks of the app it measures with, over its API: as any client would. */
import { request as httpRequest } from "node:http"

/** An app on a server. */
export interface MeasuredApp {
  readonly url: string
  /** Of the app. */
  readonly token: string
}

/** Pours NDJSON in. Throws when not all of these posts are new. */
export async function pour(app: MeasuredApp, body: string | Buffer, posts: number): Promise<void> {
  const { accepted } = await ask<{ accepted: number }>(app, "POST", "/sluice/v1/posts", body)
  if (accepted !== posts) throw new Error(`only ${accepted} of ${posts} posts were accepted`)
}

/** Adds rules, a thousand at a time. */
export async function addRules(app: MeasuredApp, values: readonly string[]): Promise<void> {
  for (let from = 0; from < values.length; from += 1_000) {
    const add = values.slice(from, from + 1_000).map((value) => ({ value }))
    const path = "/2/tweets/search/stream/rules"
    const { meta } = await ask<{ meta: { summary: { created: number } } }>(
      app,
      "POST",
      path,
      JSON.stringify({ add }),
    )
    if (meta.summary.created !== add.length) throw new Error("not every rule was created")
  }
}

/** Registers each URL as a webhook and links it, 16 at a time. Answers their ids, in no order. */
export async function linkWebhooks(
  app: MeasuredApp,
  urls: readonly string[],
  query = "",
): Promise<readonly string[]> {
  const ids: string[] = []
  await sideBySide(urls, async (url) => {
    const created = await ask<{ data: { id: string } }>(app, "POST", "/2/webhooks", JSON.stringify({ url }))
    await ask(app, "POST", `/2/tweets/search/webhooks/${created.data.id}${query}`)
    ids.push(created.data.id)
  })
  return ids
}

/** Challenges the webhooks anew. Throws unless all of them turn out as said. */
export async function revalidate(app: MeasuredApp, ids: readonly string[], valid: boolean): Promise<void> {
  await sideBySide(ids, async (id) => {
    const { data } = await ask<{ data: { valid: boolean } }>(app, "PUT", `/2/webhooks/${id}`)
    if (data.valid !== valid) throw new Error(`webhook ${id} is ${valid ? "not valid" : "valid"}`)
  })
}

/** Values of metrics, summed over their labels, by name. */
export async function metrics({ url }: MeasuredApp): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const values = new Map<string, number>()
  for (const line of text.split("\n")) {
    const [, name, value] = /^([a-z_0-9]+)(?:\{[^}]*\})? (\S+)$/.exec(line) ?? []
    if (name !== undefined) values.set(name, (values.get(name) ?? 0) + Number(value))
  }
  return values
}

/** Posts that are poured in as they come, through one body without an end. */
export interface Feed {
  /** Lines of NDJSON. */
  write(lines: string): void
  /** Ends the body, and waits for the end of the answer. */
  end(): Promise<void>
}

/** Opens a body without an end. `acknowledged` is told how many of its posts are durable, whenever there are more. */
export function openFeed({ url, token }: MeasuredApp, acknowledged: (posts: number) => void): Feed {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" }
  const request = httpRequest(`${url}/sluice/v1/posts?ack=batch`, { method: "POST", headers })
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

async function ask<Answer>(
  { url, token }: MeasuredApp,
  method: string,
  path: string,
  body?: string | Buffer,
): Promise<Answer> {
  const type = path.startsWith("/sluice/v1/posts") ? "application/x-ndjson" : "application/json"
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": type }) },
    ...(body !== undefined && { body }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${text}`)
  return JSON.parse(text) as Answer
}

/** Does it for all, 16 at a time. */
async function sideBySide<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values()
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}
