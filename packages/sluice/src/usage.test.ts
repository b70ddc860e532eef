import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { run, temporaryDirectory } from "./command.testing.ts"

test.each([
  "",
  "dev",
  "serve",
  "demo",
  "doctor",
  "app",
  "app create",
  "token create",
  "rules test",
  "webhooks add",
  "webhooks replay",
  "links add",
  "links attempts",
  "dead-letters redeliver",
  "import",
  "tail",
  "posts",
])("sluice %s --help goes to standard output and exits 0", async (command) => {
  const words = command.split(" ").filter((word) => word !== "")
  const outcome = await run([...words, "--help"])
  expect(outcome).toMatchObject({ status: 0, stderr: "" })
  expect(outcome.stdout).toContain(["Usage: sluice", ...words].join(" "))
})

const wrong: readonly (readonly [args: readonly string[], said: string])[] = [
  [[], "Usage: sluice"],
  [["serf"], "Did you mean serve?"],
  [["rules"], "Usage: sluice rules"],
  [["rules", "add"], "missing required argument 'value'"],
  [["rules", "add", "cat", "dog"], "too many arguments"],
  [["rules", "add", "cat", "--tags", "x"], "Did you mean --tag?"],
  [["rules", "delete"], "missing required argument 'id'"],
  [["rules", "test", "cat", "--mode", "fast"], "Allowed choices are stream, search"],
  [["token", "create"], "required option '--kind <kind>' not specified"],
  [["token", "create", "--kind", "root"], "Allowed choices are operator, ingest"],
  [["posts", "@wren"], "A user is given by an id"],
  [["import"], "missing required argument 'file'"],
  [["import", "x", "--from-line", "0"], "A line is a whole number from 1."],
  [["tail", "--backfill-minutes", "6"], "A whole number from 0 to 5."],
  [["app", "create", " "], "A name has 1 to 100 characters."],
  [["dev", "--\u001B[31mport"], "--␛[31mport"],
]

test.each(wrong)("wrong usage exits 2 and says how: %j", async (args, said) => {
  const outcome = await run(args)
  expect(outcome).toMatchObject({ status: 2, stdout: "" })
  expect(outcome.stderr).toContain(said)
})

test("a server that is not there is an error that says how to start one", async () => {
  const outcome = await run(["rules", "list", "--url", "http://127.0.0.1:2", "--token", "t"])
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toBe(
    "error: No answer from http://127.0.0.1:2: connection refused.\n" +
      "  Start a server with `npm start` (or `sluice dev`), or name another one with --url or SLUICE_URL.\n",
  )
})

test("without a token anywhere the command says where it looked", async () => {
  await using directory = await temporaryDirectory()
  const outcome = await run(["links", "list"], { cwd: directory.path })
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toContain("Give one with --token or SLUICE_TOKEN")
})

test("a credentials file that is broken is named", async () => {
  await using directory = await temporaryDirectory()
  await writeFile(join(directory.path, "credentials.json"), '{"url":"http://127.0.0.1:1"}')
  const outcome = await run(["links", "list", "--data", directory.path])
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toContain(`${directory.path}/credentials.json does not hold`)
})

test.each(["localhost:8080", "ftp://127.0.0.1", "http://127.0.0.1/?a=b", "\u001B[31m"])(
  "%j is not the address of a server",
  async (url) => {
    const outcome = await run(["rules", "list", "--url", url, "--token", "t"])
    expect(outcome).toMatchObject({ status: 1, stdout: "" })
    expect(outcome.stderr).toContain("is not the address of a server")
    expect(outcome.stderr).not.toContain("\u001B")
  },
)

test.each([
  [200, "<html>hello</html>", "answered with something that is not JSON"],
  [404, "<html>nothing here</html>", "The server answered with status 404."],
  [302, "", "The server answered with status 302."],
  [500, '{"a":1}', "The server answered with status 500."],
])("another kind of server is told by its answer: %i %s", async (status, body, said) => {
  const server = createServer((_, response) =>
    response.writeHead(status, { location: "/elsewhere" }).end(body),
  )
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve)
  })
  try {
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
    const outcome = await run(["webhooks", "list", "--url", url, "--token", "t"])
    expect(outcome).toMatchObject({ status: 1, stdout: "" })
    expect(outcome.stderr).toContain(said)
    expect(outcome.stderr).toContain("Is it a Sluice server at this address?")
  } finally {
    server.close()
  }
})
