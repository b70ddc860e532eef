/** The deliveries to the demo's webhook. */
import type { Client } from "@sluice/client"
import type { Delivery } from "@sluice/client/receiver"
import { streamedPost, type StreamRecord } from "../terminal/streamed-post.ts"
import type { Terminal } from "../terminal/terminal.ts"
import type { DemoReporter } from "./demo-reporter.ts"
import { checkSame, isAsExpected, listed, type Expected } from "./expected-matches.ts"
import { sleep, surplusMs, waitUntil, type Waiting } from "./waiting.ts"

const linkQuery = "expansions=author_id&user.fields=username&tweet.fields=author_id,lang"
const deliveriesShown = 8

/** Registers an endpoint and links it to the stream. */
export async function linkWebhook(client: Client, url: string, reporter: DemoReporter): Promise<void> {
  const webhook = await client.request("POST", "webhooks", { body: { url } })
  await reporter.check(webhook.data.valid, `POST /2/webhooks accepted ${url}`)
  const parameters = { webhook_id: webhook.data.id }
  const link = await client.request("POST", "link", { parameters, query: linkQuery })
  await reporter.check(link.data.provisioned, `linked with ${linkQuery}`)
}

type DeliveredRecord = StreamRecord & {
  readonly atMs: number
}

/** The deliveries so far. */
export interface Deliveries {
  readonly take: (delivery: Delivery) => void
  readonly records: readonly DeliveredRecord[]
  /** Resolves when so many different posts have arrived and nothing more seems to come, or when it takes too long. */
  arrived(count: number, waiting: Waiting): Promise<void>
}

/** Collects deliveries and shows the first of them. */
export function collectDeliveries(reporter: DemoReporter, terminal: Pick<Terminal, "style" | "columns">): Deliveries {
  const records: DeliveredRecord[] = []
  const ids = new Set<string>()
  const narrowed = { style: terminal.style, columns: terminal.columns - 3 }
  let shown: Promise<void> = Promise.resolve()
  return {
    records,
    take({ text }) {
      const record = JSON.parse(text) as StreamRecord
      records.push({ ...record, atMs: performance.now() })
      if (record.data !== undefined) ids.add(record.data.id)
      if (records.length <= deliveriesShown) shown = shown.then(() => reporter.show(streamedPost(record, narrowed)))
    },
    async arrived(count, waiting) {
      await waitUntil(() => ids.size >= count, waiting)
      await sleep(surplusMs, waiting.signal)
      await shown
      const rest = records.length - deliveriesShown
      if (rest > 0) await reporter.show(terminal.style.faint(`… and ${String(rest)} more`))
    },
  }
}

/** Checks the deliveries. Returns when each post was delivered first, by its id. */
export async function checkDeliveries(
  records: readonly DeliveredRecord[],
  expected: Expected,
  refusals: readonly string[],
  reporter: DemoReporter,
): Promise<ReadonlyMap<string, number>> {
  const firstAtMs = new Map<string, number>()
  const wrong = new Set<string>()
  for (const record of records) {
    const id = record.data?.id ?? "?"
    if (!firstAtMs.has(id)) firstAtMs.set(id, record.atMs)
    if (!isAsExpected(record, expected)) wrong.add(id)
    if (record.includes?.users?.some((user) => user["id"] === record.data?.author_id) !== true) wrong.add(id)
  }
  await reporter.check(refusals.length === 0, "all signatures are valid", refusals.join("; "))
  await checkSame(
    [...firstAtMs.keys()],
    expected,
    `${String(expected.size)} posts delivered, exactly the expected ones`,
    reporter,
  )
  await reporter.check(wrong.size === 0, "each delivery has the expected rules and the author", listed(wrong))
  return firstAtMs
}
