/** Secrets of sources are in no output, and no source keeps a server from being ready. */
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { createServer, type AddressInfo, type Server } from "node:net"
import { join } from "node:path"
import { pathOf, paths } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { SluiceProcess } from "../../../../test/support/sluice-process.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run } from "../../../sluice/src/command.testing.ts"

const [byFile, byVariable] = ["s3cret-by-file-0f6a3c5e", "s3cret-by-variable-9b1d4f7a"]

const resources = new AsyncDisposableStack()
let directory: string
let config: string
let server: SluiceProcess
let ready: { readonly url: string; readonly operator_token: string }
let received = ""

/** A server that repeats in its errors what a client has sent, password and all. */
async function startEcho(): Promise<Server> {
  const echo = createServer((socket) => {
    socket.on("error", () => undefined)
    socket.on("data", (data) => {
      received += data.toString("latin1")
      socket.write(`-ERR unknown ${data.toString("latin1").replaceAll(/\s+/g, " ")}\r\n`.repeat(4))
    })
  })
  await once(echo.listen(0, "127.0.0.1"), "listening")
  return echo
}

beforeAll(async () => {
  directory = resources.use(await temporaryDirectory()).path
  const echo = await startEcho()
  resources.defer(() => void echo.close())
  const url = `redis://127.0.0.1:${(echo.address() as AddressInfo).port}`
  await writeFile(join(directory, "password"), `${byFile}\n`)
  config = join(directory, "sluice.yaml")
  await writeFile(
    config,
    `sources:
  - { name: file, type: redis, url: "${url}", stream: posts, username: one, passwordFile: ${join(directory, "password")} }
  - { name: variable, type: redis, url: "${url}", stream: more, username: one, passwordVariable: SOURCE_PASSWORD }
  - { name: nowhere, type: bluesky, urls: "ws://127.0.0.1:1/subscribe" }
`,
  )
  const env = { SLUICE_CONFIG: config, SLUICE_LOG_LEVEL: "debug", SOURCE_PASSWORD: byVariable }
  server = resources.use(new SluiceProcess(join(directory, "data"), { env }))
  ready = JSON.parse(await server.mustBeReady()) as typeof ready
})

afterAll(() => resources.disposeAsync())

async function read(path: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(ready.url + path, { headers: { authorization: `Bearer ${ready.operator_token}` } })
  return { status: response.status, text: await response.text() }
}

const sourcesNow = async (): Promise<readonly { readonly last_error?: object }[]> =>
  (JSON.parse((await read(paths.sources)).text) as { data: { last_error?: object }[] }).data

test("a server is ready while no source can be reached", async () => {
  await expect
    .poll(async () => (await sourcesNow()).map((source) => source.last_error !== undefined), { timeout: 15_000 })
    .toEqual([true, true, true])
  expect(await read(paths.readyz)).toEqual({ status: 200, text: '{"status":"ready"}' })
})

test("a secret by file or by variable is in no response, metric, log line or printed configuration", async () => {
  // The other side has got both.
  await expect
    .poll(() => [byFile, byVariable].every((secret) => received.includes(secret)), { timeout: 15_000 })
    .toBe(true)
  const names = ["file", "variable", "nowhere"]
  const shown = await Promise.all(
    [
      paths.sources,
      paths.metrics,
      paths.overview,
      ...names.map((name) => pathOf(paths.source, { name })),
      ...names.map((name) => pathOf(paths.sourceDeadLetters, { name })),
    ].map(read),
  )
  expect(shown.map(({ status }) => status)).toEqual(shown.map(() => 200))
  const env = { SOURCE_PASSWORD: byVariable }
  const printed = await run(["serve", "--config", config, "--print-config"], { env })
  expect(printed.stdout).toContain("source variable = redis")
  const tested = await run(["sources", "test", "variable", "--config", config, "--dev"], { env })
  server.end("SIGTERM")
  const { output, errors } = await server.ended()
  expect(errors).toContain('"source":"variable"')
  const all = [...shown.map(({ text }) => text), printed, tested, output, errors].map((one) => JSON.stringify(one))
  for (const secret of [byFile, byVariable]) {
    expect(all.filter((text) => text.includes(secret))).toEqual([])
    expect(all.filter((text) => text.includes(Buffer.from(secret).toString("base64")))).toEqual([])
  }
}, 40_000)
