import { createClient } from "@sluice/client"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { listening } from "../../../../test/support/listening.testing.ts"
import { inputLine, type InputLine } from "./input-line.ts"
import { importPosts } from "./import-posts.ts"

const options = { fromLine: 1, format: "auto", isLive: false, deliver: true } as const
const listener = { rejected: () => undefined, progressed: () => undefined, retrying: () => undefined }

/** So many lines, each a post. Calls `reached` when the line of a number is asked for. */
async function* lines(count: number, reached: (number: number) => void): AsyncGenerator<InputLine> {
  for (let number = 1; number <= count; number++) {
    reached(number)
    const bytes = Buffer.from(JSON.stringify({ data: { id: String(number), text: "hello" } }))
    const line = inputLine(number, bytes.length, [bytes], number + 1)
    if (line !== undefined) yield line
  }
}

test("a chunk is made while the one before it is sent, and sent when that is stored", async () => {
  const second = Promise.withResolvers<boolean>()
  let isMade: boolean | undefined
  const bodies: string[] = []
  let open = 0
  await using server = await listening((request, response) => {
    const respond = async (): Promise<void> => {
      expect((open += 1), "one request at a time").toBe(1)
      const body = await text(request)
      bodies.push(body)
      isMade ??= await Promise.race([second.promise, sleep(2_000, false)])
      open -= 1
      const accepted = body.split("\n").length - 1
      response.end(JSON.stringify({ accepted, duplicates: 0, rejected: [], rejected_count: 0 }))
    }
    void respond()
  })
  const client = createClient({ url: server.url, token: "t" })
  // A chunk has 2,000 posts.
  const posts = lines(6_000, (number) => number === 4_000 && second.resolve(true))
  const { signal } = new AbortController()
  const { kind, totals } = await importPosts(client, posts, options, listener, signal)
  expect(isMade).toBe(true)
  expect({ kind, totals }).toMatchObject({ kind: "done", totals: { accepted: 6_000, lines: 6_000 } })
  const ids = bodies.join("").match(/(?<="id":")\d+/g)
  expect(ids).toEqual(Array.from({ length: 6_000 }, (_, index) => String(index + 1)))
})
