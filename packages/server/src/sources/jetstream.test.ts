/** Posts from a stream of JetStream, with a real NATS server, through a whole server. */
import { paths } from "@sluice/api"
import { expect, test } from "vitest"
import { openStream } from "../../../../test/support/open-stream.testing.ts"
import { envelope, startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { describeWithNats, testStream } from "./nats.testing.ts"

/** Ids of the posts that a server has stored, lowest first. */
async function storedIds(server: TestServer): Promise<readonly number[]> {
  const ids: number[] = []
  let token: string | undefined
  do {
    const query: string = token === undefined ? "" : `&pagination_token=${token}`
    const { body } = await server.call(`${paths.ingest}?max_results=100${query}`)
    ids.push(...(body.data as { data: { id: string } }[]).map(({ data }) => Number(data.id)))
    token = body.meta.next_token as string | undefined
  } while (token !== undefined)
  return ids.toSorted((a, b) => a - b)
}

/** The value of a metric, by its name with its labels; `undefined` when it has none. */
async function metric(server: TestServer, name: string): Promise<number | undefined> {
  const { text } = await server.call(paths.metrics)
  const line = text.split("\n").find((each) => each.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}

describeWithNats("JetStream as a source", () => {
  test("a message is a post: it is stored, matched and delivered, and then acknowledged", async () => {
    await using stream = await testStream()
    await using server = await startTestServer(stream.flags)
    await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
    await using reader = await openStream(server)
    await stream.publish(envelope(1, "a heron"), envelope(2, "a gull"), envelope(3, "a heron again"))
    expect([(await reader.next()).data.id, (await reader.next()).data.id]).toEqual(["1", "3"])
    expect(await storedIds(server)).toEqual([1, 2, 3])
    await expect.poll(() => stream.unfinished()).toBe(0)
    expect(await metric(server, 'sluice_source_messages_total{outcome="accepted"}')).toBe(3)
    expect(await stream.deadLetters()).toEqual([])
  })
})
