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

test("help takes less than 300 ms of a processor", async () => {
  const timed = 'TIMEFORMAT="%U %S"; time node node_modules/.bin/sluice --help >/dev/null'
  const { status, stderr } = await runUnder(await nodeOf(24), installed, "bash", "-c", timed)
  const [user = Number.NaN, system = Number.NaN] = stderr.trim().split(" ").map(Number)
  expect(status).toBe(0)
  expect(user + system).toBeLessThan(0.3)
})

// Counts processor time, since other work of the machine does not lengthen it. A start takes half of it: see docs/operations.md.
test("sluice dev starts and ends within 2.5 s of a processor", { retry: 2 }, async () => {
  await using data = await temporaryDirectory()
  const started = `exec 3< <(exec node node_modules/.bin/sluice dev --json --port 0 --data "$0"); read -r -u 3 line`
  const timed = `TIMEFORMAT="%U %S"; time { ${started}; kill $!; wait $!; }; [[ $line == *ready* ]]`
  const { status, stderr } = await runUnder(await nodeOf(24), installed, "bash", "-c", timed, data.path)
  const [user = Number.NaN, system = Number.NaN] = stderr.trim().split(" ").map(Number)
  expect(status).toBe(0)
  expect(user + system).toBeLessThan(2.5)
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
