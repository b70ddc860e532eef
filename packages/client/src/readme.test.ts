/** The examples of the README, run as they stand but for address and port, against a server. */
import { spawn, type ChildProcessByStdio } from "node:child_process"
import { once } from "node:events"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { createServer, type AddressInfo } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { text as textOf } from "node:stream/consumers"
import { pathToFileURL } from "node:url"
import { afterAll, beforeAll, expect, test } from "vitest"
import { temporaryDirectory } from "../../../test/support/temporary-directory.testing.ts"
import { startTestServer, type TestServer } from "../../../test/support/test-server.testing.ts"
import { createClient, type Client } from "./client.ts"
import type { RepeatStore } from "./receiver/repeats.ts"

const resources = new AsyncDisposableStack()
let directory: string
let readme: string
let examples: readonly string[]
let app: TestServer["app"]
let client: Client

beforeAll(async () => {
  directory = resources.use(await temporaryDirectory()).path
  const server = resources.use(await startTestServer({ "log-level": "error" }))
  app = server.app
  client = createClient({ url: server.url, token: app.bearer_token })
  readme = await readFile(new URL("../README.md", import.meta.url), "utf8")
  examples = Array.from(readme.matchAll(/```ts\n(.+?)```/gs), ([, code = ""]) =>
    code
      .replace('"@sluice/client"', JSON.stringify(new URL("index.ts", import.meta.url).href))
      .replace('"@sluice/client/receiver"', JSON.stringify(new URL("receiver/index.ts", import.meta.url).href))
      .replace("http://127.0.0.1:8080", server.url),
  )
})
afterAll(() => resources.disposeAsync())

/** The one example that holds a text. */
function exampleWith(text: string): string {
  const [example, ...others] = examples.filter((one) => one.includes(text))
  if (example === undefined || others.length > 0) throw new Error(`not one example holds ${text}`)
  return example
}

async function written(code: string): Promise<string> {
  const file = join(directory, `example-${String(code.length)}.ts`)
  await writeFile(file, code)
  return file
}

/** Starts an example in a process of its own, killed in the end. */
async function start(
  code: string,
  env: Readonly<Record<string, string>>,
): Promise<ChildProcessByStdio<null, Readable, null>> {
  const child = spawn(process.execPath, [await written(code)], {
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

test("the table of resources has every method, and no other", () => {
  const rows = readme.matchAll(/^\| `(\w+)` +\| (.*\|.*) \|$/gm)
  const named = Array.from(rows, ([, resource = "", methods = ""]) =>
    Array.from(methods.matchAll(/`(\w+)`/g), ([, method = ""]) => `${resource}.${method}`),
  ).flat()
  const found = Object.entries(client).filter((entry): entry is [string, object] => typeof entry[1] === "object")
  const methods = found.flatMap(([resource, own]) => Object.keys(own).map((method) => `${resource}.${method}`))
  expect(named.toSorted()).toEqual(methods.toSorted())
})

test("the examples of the client work as written", async () => {
  const env = { TOKEN: app.bearer_token }
  const printed = async (text: string): Promise<string> => {
    const child = await start(exampleWith(text), env)
    const [lines] = await Promise.all([textOf(child.stdout), once(child, "exit")])
    return lines
  }
  expect(await printed("client.rules.add(")).toMatch(/^\d+ cat has:images\n$/)
  const user = { id: "7", name: "NASA", username: "NASA", description: "There's space for everybody." }
  const posts = Array.from({ length: 7 }, (_, at) => ({
    data: { id: String(at + 11), text: "a fox", author_id: "7", public_metrics: { retweet_count: at } },
    includes: { users: [user] },
  }))
  await client.posts.send(posts)
  expect(await printed("client.users.getByUsername(")).toBe(
    "There's space for everybody. 2 Could not find tweet with ids: [999].\n",
  )
  const found = "a fox\n".repeat(7)
  expect(await printed('direction: "newer"')).toBe(`${found}12 11\n17 16 15 14 13\n`)
  expect(await printed("repost_count")).toBe("0 0\n")
  expect(await printed('client.pages("deadLetters"')).toBe("0\n5\n")
  expect(await printed("client.rules.sync(")).toBe("2 0 0\n")
  expect(await printed("withRetries(")).toMatch(/^400 Invalid Request: .*max_results.* \[\]\n1\n$/)
  const streamed = await start(exampleWith("client.stream({"), env)
  expect(await firstLine(streamed)).toMatch(/^A cat at the gate \[ \{ id: .*tag: 'pets'/)
  streamed.kill("SIGKILL")
  await once(streamed, "exit")
  const position = join(directory, "position.txt")
  await writeFile(position, new Date(Date.now() - 180_000).toISOString())
  const continued = await start(exampleWith("completeUntil"), { ...env, POSITION: position })
  expect(await firstLine(continued)).toBe("A cat at the gate")
})

test("the example of a webhook works as written, without a key and with one", async () => {
  await client.request("POST", "rules", { body: { add: [{ value: "bird" }] } })
  const port = await freePort()
  const url = `http://127.0.0.1:${String(port)}/hook`
  const listening = async (env: Readonly<Record<string, string>>): Promise<Awaited<ReturnType<typeof start>>> => {
    const code = exampleWith("nodeHandler(receive)").replace("3000", `${String(port)}, "127.0.0.1"`)
    const child = await start(code, { CLIENT_SECRET: app.client_secret, ...env })
    await expect.poll(() => responds(url)).toBe(true)
    return child
  }
  // The key is there once the webhook is, which needs a response to its challenge.
  const first = await listening({})
  const { data } = await client.request("POST", "webhooks", { body: { url } })
  first.kill("SIGKILL")
  await once(first, "exit")
  const parameters = { webhook_id: data.id }
  const key = await client.request("GET", "signingKey", { parameters })
  const second = await listening({ SIGNING_KEYS: `whsec_b2xk ${key.data.signing_key}` })
  await client.request("POST", "link", { parameters })
  await client.request("POST", "posts", { body: '{"data":{"id":"102","text":"a bird"}}' })
  expect(await firstLine(second)).toMatch(/^msg_\S+ a bird \[ \{ id: /)
})

test("the stores of the examples remember each delivery as the store in memory does", async () => {
  // Redis as far as the example uses it.
  await mkdir(join(directory, "node_modules/redis"), { recursive: true })
  await writeFile(
    join(directory, "node_modules/redis/index.js"),
    `const values = new Map()
    const get = (key) => (values.get(key)?.until > Date.now() ? values.get(key).value : null)
    const redis = {
      async set(key, value, { NX, PX }) {
        if (NX === true && get(key) !== null) return null
        values.set(key, { value, until: Date.now() + PX })
        return "OK"
      },
      get: async (key) => get(key),
      del: async (key) => Number(values.delete(key)),
    }
    export const createClient = () => ({ connect: async () => redis })`,
  )
  await writeFile(join(directory, "node_modules/redis/package.json"), '{"type":"module","main":"index.js"}')
  const database = exampleWith("DatabaseSync").replace('"deliveries.db"', '":memory:"')
  for (const code of [exampleWith('from "redis"'), database]) {
    const { repeats } = (await import(pathToFileURL(await written(code)).href)) as { readonly repeats: RepeatStore }
    expect(await repeats.begin("a", 60_000)).toBe("new")
    expect(await repeats.begin("a", 60_000)).toBe("running")
    await repeats.forget("a")
    expect(await repeats.begin("a", 60_000)).toBe("new")
    await repeats.finish("a", 60_000)
    expect(await repeats.begin("a", 60_000)).toBe("finished")
    await repeats.finish("a", -1)
    expect(await repeats.begin("a", -1)).toBe("new")
    expect(await repeats.begin("a", 60_000)).toBe("new")
    expect(await repeats.begin("b", 60_000)).toBe("new")
  }
})

async function responds(url: string): Promise<boolean> {
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
