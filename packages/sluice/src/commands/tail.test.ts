import type { IncomingMessage, ServerResponse } from "node:http"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { expect, test } from "vitest"
import { ended, run, start, startDev, type Surroundings } from "../command.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { listening } from "../../../../test/support/listening.testing.ts"

test("matches arrive on the stream connection, those of the last minutes first, and SIGINT ends it", async () => {
  await using directory = await temporaryDirectory()
  const surroundings = { cwd: directory.path }
  await using _dev = await startDev(join(directory.path, ".sluice"))
  const post = (id: string, text: string): Promise<unknown> =>
    run(["import", "-"], { ...surroundings, input: JSON.stringify({ data: { id, text, author_id: "7" } }) })
  await run(["rules", "add", "cat", "--tag", "cats"], surroundings)
  await post("1", "an early cat")

  const child = start(["tail", "--json", "--backfill-minutes", "5"], surroundings)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async (): Promise<unknown> => JSON.parse(String((await lines.next()).value))
  expect(await next()).toMatchObject({
    data: { id: "1", text: "an early cat" },
    matching_rules: [{ tag: "cats" }],
  })
  await post("2", "a dog")
  await post("3", "a late cat")
  expect(await next()).toMatchObject({ data: { id: "3" } })
  child.kill("SIGINT")
  expect((await ended(child)).status).toBe(0)
})

test("without rules the server's refusal is printed and nothing is retried", async () => {
  await using directory = await temporaryDirectory()
  await using _dev = await startDev(join(directory.path, ".sluice"))
  const outcome = await run(["tail"], { cwd: directory.path })
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toMatch(/^error: ConnectionException: You must define rules/)
})

/** A server whose stream connections behave as given, one after the other. */
async function fakeStream(
  connections: readonly ((response: ServerResponse, request: IncomingMessage) => void)[],
): Promise<{ surroundings: Surroundings } & AsyncDisposable> {
  let count = 0
  const server = await listening((request, response) => {
    const connection = connections[count++] ?? connections.at(-1)
    connection?.(response, request)
  })
  return {
    surroundings: { env: { SLUICE_URL: server.url, SLUICE_TOKEN: "t" } },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

test("a connection that ends or breaks is opened again, and records are put together whatever the chunks", async () => {
  await using server = await fakeStream([
    (response) => {
      response.write('{"data":{"id":"1",')
      setTimeout(() => response.end('"text":"one"}}\r\n\r\n{"data":{"id":"2","text":"two"}}\r\n'), 20)
    },
    (response) => {
      response.write('{"data":{"id":"3","text":"thr')
      setTimeout(() => response.destroy(), 20)
    },
    (response) => response.write('\r\n{"data":{"id":"4","text":"four\u009B\u202E\u001B"}}\r\n'),
  ])
  const child = start(["tail", "--json"], server.surroundings)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  let notes = ""
  child.stderr.on("data", (chunk) => (notes += String(chunk)))
  const records = []
  while (records.length < 3) records.push(String((await lines.next()).value))
  expect(records).toEqual([
    '{"data":{"id":"1","text":"one"}}',
    '{"data":{"id":"2","text":"two"}}',
    String.raw`{"data":{"id":"4","text":"four\u009b\u202e\u001b"}}`,
  ])
  // The two outputs are two pipes: what was written first may come last.
  await expect
    .poll(() => notes)
    .toMatch(/The server ended the connection\. Reconnecting in 0\.25 s\.\n.*Reconnecting in 0\.5 s\.\n$/s)
  child.kill("SIGTERM")
  expect((await ended(child)).status).toBe(0)
})

test("matches that the server refuses to send again are reported", async () => {
  await using server = await fakeStream([
    (response) => void response.end('{"data":{"id":"1","text":"one"}}\r\n'),
    (response) => void response.writeHead(403).end(),
    (response) => void response.write('{"data":{"id":"2","text":"two"}}\r\n'),
  ])
  const child = start(["tail", "--json"], server.surroundings)
  const end = ended(child)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  await lines.next()
  await lines.next()
  child.kill("SIGTERM")
  expect((await end).stderr).toMatch(/^Matches from \d{4}-\S+Z to \d{4}-\S+Z may be missing: the server refuses /m)
})

test("a person sees rules, author and text on a line, and the server's reports about the connection", async () => {
  const record = {
    data: { id: "1", text: "two\nlines \u001B[2J", author_id: "7" },
    includes: { users: [{ id: "7", username: "wren" }] },
    matching_rules: [
      { id: "5", tag: "cats" },
      { id: "6", tag: "a tag that is longer than its column" },
    ],
  }
  const fault = {
    errors: [{ title: "operational-disconnect", detail: "The server is closing.", disconnect_type: "X" }],
  }
  await using server = await fakeStream([
    (response, request) => {
      expect(request.url).toContain("expansions=author_id")
      response.write(`${JSON.stringify(record)}\r\n${JSON.stringify(fault)}\r\n`)
    },
  ])
  const child = start(["tail"], server.surroundings)
  const end = ended(child)
  await new Promise<void>((seen) => {
    child.stderr.once("data", () => seen())
  })
  child.kill("SIGTERM")
  const outcome = await end
  expect(outcome.stdout).toBe("cats + a tag that is longer than its column  @wren             two⏎lines ␛[2J\n")
  expect(outcome.stderr).toBe("operational-disconnect: The server is closing.\n")
})

test("a reader that has gone ends the command", async () => {
  await using server = await fakeStream([
    (response) => {
      let id = 0
      const timer = setInterval(() => response.write(`{"data":{"id":"${(id += 1)}","text":"one"}}\r\n`), 5)
      response.on("close", () => clearInterval(timer))
    },
  ])
  const child = start(["tail", "--json"], server.surroundings)
  child.stdout.once("data", () => child.stdout.destroy())
  const status = await new Promise((resolve) => child.once("exit", resolve))
  expect(status).toBe(0)
})
