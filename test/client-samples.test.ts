import { createClient, type StreamLine } from "@sluice/client"
import { isSampled } from "@sluice/rules"
import { expect, test } from "vitest"
import { envelope, startTestServer } from "./support/test-server.testing.ts"

const ids = Array.from({ length: 400 }, (_, at) => String(70_000 + at))

test("the sample streams are read over connections that the app ends, without a post lost or repeated", async () => {
  await using server = await startTestServer()
  const client = createClient({ url: server.url, token: server.app.bearer_token })
  const leave = new AbortController()
  const { signal } = leave
  const reading = [client.streamSample({ signal }), client.streamSample10({ query: { partition: 2 }, signal })].map(
    read,
  )
  const open = async (): Promise<number> => (await client.connections.getConnectionHistory()).meta.result_count
  await expect.poll(open).toBe(2)
  await server.ingest(...ids.slice(0, 200).map((id) => envelope(id, "before")))
  const wanted = (of: readonly string[]) => [
    of.filter((id) => isSampled(id, 1)),
    of.filter((id) => isSampled(id, 10) && !isSampled(id, 5)),
  ]
  const posts = () => reading.map((lines) => lines.flatMap(({ body }) => body?.data?.id ?? []))
  await expect.poll(posts).toEqual(wanted(ids.slice(0, 200)))
  expect((await client.connections.deleteAll()).data.successful_kills).toBe(2)
  await expect.poll(open).toBe(2)
  await server.ingest(...ids.slice(200).map((id) => envelope(id, "after")))
  await expect.poll(posts).toEqual(wanted(ids))
  leave.abort()
  const errors = reading.map((lines) => lines.flatMap(({ body }) => (body?.errors ?? []).map(({ title }) => title)))
  expect(errors).toEqual([["operational-disconnect"], ["operational-disconnect"]])
  expect(reading.flat().every(({ body }) => body !== undefined && !("matching_rules" in body))).toBe(true)
})

/** Collects the lines of a stream. */
function read(stream: AsyncIterable<StreamLine>): readonly StreamLine[] {
  const lines: StreamLine[] = []
  void (async () => {
    for await (const line of stream) lines.push(line)
  })()
  return lines
}
