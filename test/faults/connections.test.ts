/** Processes end while their streams are open: the list of connections says so, and does not count them as open. */
import { once } from "node:events"
import { get } from "node:http"
import { join } from "node:path"
import { expect, test } from "vitest"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { AppClient, waitFor } from "./app-client.ts"
import { Cluster } from "./cluster.ts"
import { postgresMissing } from "./private-postgres.ts"

/** An open connection of a process that was killed is listed as ended within this time. */
const listedMsMax = 30_000

interface Listed {
  readonly endpoint_name: string
  readonly disconnected_at?: string
  readonly disconnect_reason?: string
}

/** Opens a stream, and reads it until it ends or breaks. */
async function openStream({ url, token }: AppClient, path: string): Promise<void> {
  const request = get(url + path, { agent: false, headers: { authorization: `Bearer ${token}` } })
  const [response] = await once(request, "response")
  expect(response.statusCode).toBe(200)
  request.on("error", () => undefined)
  response.on("error", () => undefined).resume()
}

async function listed(app: AppClient, status = "all"): Promise<readonly Listed[]> {
  return (await app.json("GET", `/2/connections?status=${status}`)).data as readonly Listed[]
}

const reasonsOf = (connections: readonly Listed[]): readonly unknown[] =>
  connections.map(({ endpoint_name: endpoint, disconnect_reason: reason }) => [endpoint, reason])

test("after SIGKILL and after SIGTERM, a start lists the connections of the process before as ended, and why", async () => {
  await using directory = await temporaryDirectory()
  const data = join(directory.path, "data")
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    await using server = new SluiceProcess(data)
    const app = new AppClient(await server.mustBeReady())
    await openStream(app, "/2/tweets/sample/stream")
    await waitFor(
      () => listed(app, "active"),
      (open) => open.length === 1,
    )
    server.end(signal)
    await server.ended()
  }
  await using server = new SluiceProcess(data)
  const app = new AppClient(await server.mustBeReady())
  const ended = await waitFor(
    () => listed(app),
    (all) => all.every(({ disconnect_reason: reason }) => reason !== undefined),
  )
  expect(reasonsOf(ended)).toEqual([
    ["sample_stream", "OperationalDisconnect"],
    ["sample_stream", "UpstreamUncleanDisconnect"],
  ])
  expect(ended.every(({ disconnected_at: at = "" }) => Math.abs(Date.now() - Date.parse(at)) < 60_000)).toBe(true)
  expect(await listed(app, "active")).toEqual([])
})

test.skipIf(postgresMissing !== undefined)(
  "connections to a process that is killed are listed as ended by the others within 30 s, and count no longer",
  async () => {
    await using cluster = await Cluster.start({ processes: 2 })
    const [killed, living] = [0, 1].map((number) => new AppClient(cluster.member(number).readyLine)) as [
      AppClient,
      AppClient,
    ]
    await openStream(killed, "/2/tweets/sample/stream")
    await openStream(living, "/2/tweets/sample10/stream?partition=2")
    const open = [
      ["sample10_stream", undefined],
      ["sample_stream", undefined],
    ]
    expect(reasonsOf(await listed(living))).toEqual(open)
    await cluster.end(0, "SIGKILL")
    await waitFor(
      () => listed(living, "inactive"),
      (ended) => ended[0]?.disconnect_reason === "UpstreamUncleanDisconnect",
      listedMsMax,
    )
    expect(reasonsOf(await listed(living, "active"))).toEqual([["sample10_stream", undefined]])
    await openStream(living, "/2/tweets/sample/stream")
    expect(cluster.unexpectedErrors).toEqual([])
  },
)
