/** The stream of a real server that is killed, and started again on the same data. */
import { join } from "node:path"
import { expect, test } from "vitest"
import { SluiceProcess } from "../../../test/support/sluice-process.testing.ts"
import { temporaryDirectory } from "../../../test/support/temporary-directory.testing.ts"
import { createClient } from "./client.ts"
import { withRetries } from "./retry.ts"

interface Ready {
  readonly url: string
  readonly app: { readonly bearer_token: string }
}

test("no match is lost and none comes twice, by its id, over a kill of the server", async () => {
  await using directory = await temporaryDirectory()
  await using resources = new AsyncDisposableStack()
  let ready: Ready | undefined
  const start = async (): Promise<SluiceProcess> => {
    const server = resources.use(new SluiceProcess(join(directory.path, "data")))
    ready = JSON.parse(await server.mustBeReady()) as Ready
    return server
  }
  let server = await start()
  // Each start has a port of its own.
  const rerouted = (url: string, init: RequestInit) => fetch(url.replace("http://server", ready?.url ?? ""), init)
  const app = createClient({ url: "http://server", token: ready?.app.bearer_token, fetch: rerouted })
  await app.request("POST", "rules", { body: { add: [{ value: "cat" }] } })

  const stop = new AbortController()
  const ids: string[] = []
  const disconnects: string[] = []
  const onDisconnect = ({ error }: { readonly error: Error | undefined }) => disconnects.push(error?.message ?? "end")
  const reading = (async () => {
    const query = { backfill_minutes: 1 }
    for await (const { body } of app.stream({ query, signal: stop.signal, onDisconnect }))
      ids.push(body?.data?.id ?? "?")
  })()
  let sent = 0
  const send = async (): Promise<void> => {
    const first = sent + 1
    sent += 20
    const posts = Array.from({ length: 20 }, (_, at) => ({ data: { id: String(first + at), text: "a cat" } }))
    const body = posts.map((post) => `${JSON.stringify(post)}\n`).join("")
    // The first attempt may have been stored, though its response was lost: the server takes each post once.
    await withRetries(() => app.request("POST", "posts", { body }))
  }
  await send()
  await expect.poll(() => ids.length).toBe(sent)
  const sending = Promise.all([send(), send(), send()])
  server.end("SIGKILL")
  await server.ended()
  server = await start()
  await sending
  await send()
  await expect.poll(() => new Set(ids).size).toBe(sent)
  expect(ids).toHaveLength(sent)
  expect(disconnects.length).toBeGreaterThanOrEqual(1)
  stop.abort()
  await reading
})
