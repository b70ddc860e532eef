/** The examples of the README, run as they stand but for address and port, against a server. */
import { spawn, type ChildProcessByStdio } from "node:child_process"
import { once } from "node:events"
import { readFile, writeFile } from "node:fs/promises"
import { createServer, type AddressInfo } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { afterAll, beforeAll, expect, test } from "vitest"
import { temporaryDirectory } from "../../../test/support/temporary-directory.testing.ts"
import { startTestServer, type TestServer } from "../../../test/support/test-server.testing.ts"
import { createClient, type Client } from "./client.ts"

const resources = new AsyncDisposableStack()
let directory: string
let examples: readonly string[]
let app: TestServer["app"]
let client: Client

beforeAll(async () => {
  directory = resources.use(await temporaryDirectory()).path
  const server = resources.use(await startTestServer({ "log-level": "error" }))
  app = server.app
  client = createClient({ url: server.url, token: app.bearer_token })
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8")
  examples = Array.from(readme.matchAll(/```ts\n(.+?)```/gs), ([, code = ""]) =>
    code
      .replace('"@sluice/client"', JSON.stringify(new URL("index.ts", import.meta.url).href))
      .replace('"@sluice/client/receiver"', JSON.stringify(new URL("receiver.ts", import.meta.url).href))
      .replace("http://127.0.0.1:8080", server.url),
  )
})
afterAll(() => resources.disposeAsync())

/** Starts an example in a process of its own, killed in the end. */
async function start(
  code: string,
  env: Readonly<Record<string, string>>,
): Promise<ChildProcessByStdio<null, Readable, null>> {
  const file = join(directory, `example-${String(code.length)}.ts`)
  await writeFile(file, code)
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  })
  resources.defer(() => void child.kill("SIGKILL"))
  return child
}

async function firstLine(child: ChildProcessByStdio<null, Readable, null>): Promise<string | undefined> {
  for await (const line of createInterface(child.stdout)) return line
  return undefined
}

test("the examples of the README work as they stand", async () => {
  const [requests = "", retries = "", stream = "", webhook = "", ...others] = examples
  expect(others).toEqual([])
  const env = { TOKEN: app.bearer_token }
  expect(await firstLine(await start(requests, env))).toMatch(/^\d+ cat has:images$/)
  await client.request("POST", "rules", { body: { add: [{ value: "cat", tag: "all cats" }] } })
  expect(await firstLine(await start(retries, env))).toBe("1")
  expect(await firstLine(await start(stream, env))).toMatch(/^A cat at the gate \[ \{ id: .*tag: 'all cats'/)

  const port = await freePort()
  const url = `http://127.0.0.1:${String(port)}/hook`
  const listening = async (signingKey: string): Promise<Awaited<ReturnType<typeof start>>> => {
    const secrets = { CONSUMER_SECRET: app.consumer_secret, SIGNING_KEY: signingKey }
    const child = await start(webhook.replace("3000", `${String(port)}, "127.0.0.1"`), secrets)
    await expect.poll(() => answers(url)).toBe(true)
    return child
  }
  // The key is there once the webhook is, which needs an answer to its challenge.
  const first = await listening("whsec_none")
  const { data } = await client.request("POST", "webhooks", { body: { url } })
  first.kill("SIGKILL")
  await once(first, "exit")
  const parameters = { webhook_id: data.id }
  const key = await client.request("GET", "signingKey", { parameters })
  const second = await listening(key.data.signing_key)
  await client.request("POST", "link", { parameters })
  await client.request("POST", "ingest", { body: '{"data":{"id":"2","text":"another cat"}}' })
  expect(await firstLine(second)).toMatch(/^msg_\S+ \{$/)
})

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).status === 405
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
