/**
 * Rules change in the middle of a burst of posts: exactly one version of the ruleset matches each post.
 *
 *     version   0    1         2               3 …
 *     rules     –    1a 1b     1a 1b 2a 2b     2a 2b …     added, and deleted, in pairs, a request each
 *
 * A post that half a pair matches was matched in the middle of a change. Two threads match.
 */
import { join } from "node:path"
import { expect, test } from "vitest"
import { AppClient, postLine } from "./app-client.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const pairs = 40
const clients = 3
const bodyPosts = 100

test("exactly one version of the ruleset matches each post of a burst", { timeout: 180_000 }, async () => {
  await using directory = await temporaryDirectory()
  const data = join(directory.path, "data")
  await using server = new SluiceProcess(data, { env: { SLUICE_INTAKE_THREADS: "2" } })
  const app = new AppClient(await server.mustBeReady())
  await using endpoint = await WebhookReceiver.start(app.consumerSecret)
  const webhookId = await app.link(endpoint.url)
  await change(app, { add: [{ value: "cat", tag: "always" }] })

  const changing = new AbortController()
  /**
   * Pairs that certainly existed when a post was sent, and the oldest pair that may have existed when it was accepted.
   */
  let [added, deleted] = [0, 0]
  const floors = new Map<string, { added: number; deleted: number }>()
  let next = 1
  const ingest = async (): Promise<void> => {
    while (!changing.signal.aborted) {
      const ids = Array.from({ length: bodyPosts }, () => next++)
      for (const id of ids) floors.set(String(id), { added, deleted })
      await app.ingest(ids.map((id) => postLine(id, `cat ${"and so on ".repeat(id % 7)}`)))
    }
  }
  const ingesting = Promise.all(Array.from({ length: clients }, ingest))
  const idsOfPair = new Map<number, readonly string[]>()
  for (let pair = 1; pair <= pairs; pair += 1) {
    const values = [`cat -no${pair}a`, `cat -no${pair}b`]
    const made = await change(app, { add: values.map((value) => ({ value, tag: String(pair) })) })
    idsOfPair.set(
      pair,
      made.map(({ id }) => id),
    )
    added = pair
    if (pair % 2 === 0) {
      await change(app, { delete: { ids: idsOfPair.get(pair / 2) } })
      deleted = pair / 2
    }
  }
  changing.abort()
  await ingesting
  const { total } = await app.caughtUp(webhookId)

  expect(total.delivered).toBe(next - 1)
  const versions = new Set<string>()
  for (const { body } of endpoint.received) {
    const { data: post, matching_rules: rules } = JSON.parse(body) as {
      data: { id: string }
      matching_rules: readonly { tag: string }[]
    }
    const tags = rules.map(({ tag }) => tag).filter((tag) => tag !== "always")
    const seen = [...new Set(tags.map(Number))].toSorted((a, b) => a - b)
    const [first = 1, last = 0] = [seen[0], seen.at(-1)]
    versions.add(seen.join())
    // Whole pairs, without a gap between them: a state of the ruleset.
    expect(tags.length, `post ${post.id}: ${tags.join()}`).toBe(2 * seen.length)
    expect(seen).toEqual(Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index))
    // No pair that was gone when the post was sent.
    const floor = floors.get(post.id)
    expect(last).toBeGreaterThanOrEqual(floor?.added ?? 0)
    if (seen.length > 0) expect(first).toBeGreaterThan(floor?.deleted ?? 0)
  }
  console.log(`rule changes: ${next - 1} posts, ${versions.size} versions`)
  // The changes overlapped the burst.
  expect(versions.size).toBeGreaterThan(pairs / 4)
})

async function change(app: AppClient, body: unknown): Promise<readonly { id: string }[]> {
  const { data } = (await app.json("POST", "/2/tweets/search/stream/rules", body)) as {
    data?: readonly { id: string }[]
  }
  return data ?? []
}
