import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { run, type Run } from "./command.testing.ts"
import { temporaryDirectory } from "../../../test/support/temporary-directory.testing.ts"
import { listening } from "../../../test/support/listening.testing.ts"

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
  "search",
  "counts",
  "usage",
  "app limits",
  "completion",
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
  [["posts", "@wren"], "Expected the id of a user"],
  [["search"], "missing required argument 'query'"],
  [["search", "cat", "--max", "0"], "Expected a whole number from 1."],
  [["search", "cat", "--since", "2026-02-30T00:00"], "Expected a time with its zone"],
  [["counts", "cat", "--granularity", "week"], "Allowed choices are minute, hour, day"],
  [["usage", "--days", "91"], "Expected a number of days from 1 to 90."],
  [["app", "limits", "1", "--rules", "0"], "Expected a whole number from 1 to"],
  [["app", "limits", "1", "--requests", "GET /2/nothing app 1"], "It must name endpoints"],
  [["import"], "missing required argument 'file'"],
  [["import", "x", "--from-line", "0"], "Expected a whole number from 1."],
  [["tail", "--backfill-minutes", "6"], "Expected a whole number from 0 to 5."],
  [["app", "create", " "], "A name must have 1 to 100 characters."],
  [["dev", "--\u001B[31mport"], "--␛[31mport"],
]

test.each(wrong)("wrong usage exits 2 with the reason: %j", async (args, said) => {
  const outcome = await run(args)
  expect(outcome).toMatchObject({ status: 2, stdout: "" })
  expect(outcome.stderr).toContain(said)
})

test("a missing server is an error that says how to start one", async () => {
  const outcome = await run(["rules", "list", "--url", "http://127.0.0.1:2", "--token", "t"])
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toBe(
    "error: No response from http://127.0.0.1:2: connection refused.\n" +
      "  Start a server with `sluice dev` (`npm start` in a checkout), or set its URL with --url or SLUICE_URL.\n",
  )
})

test("without a token the command names the places where one may be", async () => {
  await using directory = await temporaryDirectory()
  const outcome = await run(["links", "list"], { cwd: directory.path })
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toContain("Set SLUICE_TOKEN or use --token-file")
})

test("a credentials file that is broken is named", async () => {
  await using directory = await temporaryDirectory()
  await writeFile(join(directory.path, "credentials.json"), '{"url":"http://127.0.0.1:1"}')
  const outcome = await run(["links", "list", "--data", directory.path])
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toContain(`${directory.path}/credentials.json is not a valid credentials file`)
})

test("a token comes from a file, and then from nowhere else", async () => {
  await using directory = await temporaryDirectory()
  const asked: (string | undefined)[] = []
  await using server = await listening((request, response) => {
    asked.push(request.headers.authorization)
    response.end('{"data":[],"meta":{"result_count":0}}')
  })
  const file = join(directory.path, "token")
  const list = (...args: string[]): Promise<Run> =>
    run(["rules", "list", "--url", server.url, "--token-file", file, ...args], {
      env: { SLUICE_TOKEN: "other" },
    })
  await writeFile(file, "  the_token\n")
  expect(await list()).toMatchObject({ status: 0 })
  expect(asked).toEqual(["Bearer the_token"])
  expect(await list("--token", "t")).toMatchObject({
    status: 2,
    stderr: "error: Use either --token or --token-file, not both.\n",
  })
  for (const [content, said] of [
    ["", "is empty"],
    ["x".repeat(5_000), "is too large for a token"],
    ["two words", "contains invalid characters"],
  ] as const) {
    await writeFile(file, content)
    const outcome = await list()
    expect(outcome).toMatchObject({ status: 1, stdout: "" })
    expect(outcome.stderr).toContain(said)
    expect(outcome.stderr).not.toContain("words")
  }
  await rm(file)
  expect((await list()).stderr).toContain("The token file cannot be read: ENOENT")
  expect(asked).toHaveLength(1)
})

test.each(["http://me:secret@127.0.0.1", "http://127.0.0.1/?api_key=secret", "me:secret@x", "x#secret"])(
  "an address with a secret in it is refused, and the message omits the secret: %s",
  async (url) => {
    const outcome = await run(["rules", "list", "--url", url, "--token", "t"])
    expect(outcome).toMatchObject({ status: 1, stdout: "" })
    expect(outcome.stderr).toContain("is not the URL of a server")
    expect(outcome.stderr).not.toContain("secret")
  },
)

test.each(["localhost:8080", "ftp://127.0.0.1", "http://127.0.0.1/?a=b", "\u001B[31m"])(
  "%j is not the URL of a server",
  async (url) => {
    const outcome = await run(["rules", "list", "--url", url, "--token", "t"])
    expect(outcome).toMatchObject({ status: 1, stdout: "" })
    expect(outcome.stderr).toContain("is not the URL of a server")
    expect(outcome.stderr).not.toContain("\u001B")
  },
)

test.each([
  [200, "<html>hello</html>", "responded with something that is not JSON"],
  [404, "<html>nothing here</html>", "The server responded with status 404."],
  [302, "", "The server responded with status 302."],
  [500, '{"a":1}', "The server responded with status 500."],
])("another kind of server is recognised by its response: %i %s", async (status, body, said) => {
  await using server = await listening((_, response) =>
    response.writeHead(status, { location: "/elsewhere" }).end(body),
  )
  const outcome = await run(["webhooks", "list", "--url", server.url, "--token", "t"])
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toContain(said)
  expect(outcome.stderr).toContain("Is a Sluice server at this address?")
})
