/** The installed packages, run as their users run them, under each Node that they are for, and under two too old. */
import { describe, expect, inject, test } from "vitest"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { devUnder, nodeOf, runUnder } from "./nodes.testing.ts"

const installed = inject("installed")

describe.each([24, 26])("on Node %i", (major) => {
  test("sluice dev serves posts, rules, rule tests, the console and its own description", async () => {
    await using data = await temporaryDirectory()
    const node = await nodeOf(major)
    await using dev = await devUnder(node, installed, data.path)
    const { url, app } = dev.ready
    const send = async (method: string, path: string, body?: string): Promise<unknown> => {
      const type = path.endsWith("/posts") ? "application/x-ndjson" : "application/json"
      const headers = {
        Authorization: `Bearer ${app.bearer_token}`,
        ...(body !== undefined && { "Content-Type": type }),
      }
      const response = await fetch(url + path, { method, headers, body: body ?? null })
      expect([path, response.status]).toEqual([path, expect.toBeOneOf([200, 201])])
      return response.json()
    }
    await send("POST", "/2/tweets/search/stream/rules", '{"add":[{"value":"heron","tag":"birds"}]}')
    const post = '{"data":{"id":"1001","text":"A heron stood at the sluice.","author_id":"42"}}'
    expect(await send("POST", "/sluice/v1/posts", post)).toMatchObject({ accepted: 1 })
    expect(await send("GET", "/2/users/42/tweets")).toMatchObject({ data: [{ id: "1001" }] })
    const tested = await send("POST", "/sluice/v1/rules/test", '{"value":"heron","recent":10}')
    expect(tested).toMatchObject({ data: [{ id: "1001" }] })
    // The console: its page, and the script that the page names.
    const page = await fetch(`${url}/console/`)
    const [, script = ""] = /<script type="module"[^>]+src="([^"]+)"/.exec(await page.text()) ?? []
    expect([page.status, script]).toEqual([200, expect.stringMatching(/^\/console\/assets\/.+\.js$/)])
    const asset = await fetch(url + script)
    expect([asset.status, asset.headers.get("content-type")]).toEqual([200, expect.stringContaining("javascript")])
    expect(await send("GET", "/openapi.json")).toMatchObject({ info: { version: await versionOf(node) } })
  })

  test("sluice demo does the whole job", async () => {
    const { status, stdout } = await runUnder(await nodeOf(major), installed, "npx", "sluice", "demo")
    expect([status, stdout]).toEqual([0, expect.stringContaining("All checks passed.")])
  })
})

// Processor time, and as a multiple of another command's in the same run: neither other work of the machine nor its speed counts.
describe("the processor time of a start", () => {
  const help = "node node_modules/.bin/sluice --help >/dev/null"
  const dev =
    `{ exec 3< <(exec node node_modules/.bin/sluice dev --json --port 0 --data "$(mktemp -d -p "$0")"); read -r -u 3 line; ` +
    `kill $!; wait $!; [[ $line == *ready* ]]; }`
  /** Nothing but the two largest libraries of the server, and as many threads as `dev` has. */
  const bareServer =
    `node --input-type=module -e 'import "fastify"; import "typebox"; import { Worker } from "node:worker_threads"; ` +
    `for (let count = 0; count < 3; count++) new Worker("0", { eval: true })'`

  test.each([
    { title: "help takes less than 4.5 times that of a bare Node", command: help, other: "node -e 0", timesMax: 4.5 },
    { title: "sluice dev takes less than 5 times that of a bare server", command: dev, other: bareServer, timesMax: 5 },
  ])("$title", async ({ command, other, timesMax }) => {
    await using data = await temporaryDirectory()
    const script =
      `TIMEFORMAT="%U %S"; for run in {1..5}; do ` +
      [command, other].map((timed) => `time ${timed} || exit 1`).join("; ") +
      "; done"
    const { status, stderr } = await runUnder(await nodeOf(24), installed, "bash", "-c", script, data.path)
    const seconds = stderr
      .trim()
      .split("\n")
      .map((line) => line.split(" ").reduce((sum, part) => sum + Number(part), 0))
    expect([status, seconds.length], stderr).toEqual([0, 10])
    // The least of several runs is what the command itself takes.
    const least = (rest: number): number => Math.min(...seconds.filter((_, index) => index % 2 === rest))
    expect(least(0) / least(1)).toBeLessThan(timesMax)
  })
})

async function versionOf(node: string): Promise<string> {
  const { stdout } = await runUnder(node, installed, "npx", "sluice", "--version")
  return stdout.trim()
}

test.each([20, 22])("on Node %i the command prints one line, which names the program to install", async (major) => {
  const outcome = await runUnder(await nodeOf(major), installed, "npx", "sluice", "dev")
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toMatch(/^error: Sluice needs Node 24 or newer, and this is \d+\.\d+\.\d+\. Install .+\n$/)
})
