import { mkdir, readdir } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { run, runProcess, start, ended } from "../command.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { startTestServer } from "../../../../test/support/test-server.testing.ts"
import { quantile } from "./latency.ts"
import { runDemo } from "./run-demo.ts"
import { readSample } from "./sample.ts"

test("the demo shows the whole job, exits 0 and leaves nothing behind", async () => {
  await using directory = await temporaryDirectory()
  const outcome = await runProcess(["demo"], { cwd: directory.path, env: { TMPDIR: directory.path } })
  expect(outcome).toMatchObject({ status: 0, stderr: "" })
  expect(outcome.stdout).not.toContain("✗")
  expect(outcome.stdout).not.toContain("\u001B")
  for (const seen of [
    "posts accepted",
    "all signatures are valid",
    "exactly the expected ones",
    "GET /2/tweets/search/webhooks",
    '"fields": [',
    "paging back shows the same pages",
    "the same as delivered",
    "All checks passed.",
    "Start a server: npx sluice dev, or in a checkout npm start",
  ]) {
    expect(outcome.stdout).toContain(seen)
  }
  expect(await readdir(directory.path)).toEqual([])
})

test("with --json only the summary goes to standard output, and its figures agree", async () => {
  const sample = await readSample()
  const outcome = await run(["demo", "--json"])
  const summary = JSON.parse(outcome.stdout) as Record<string, number>
  expect(summary).toMatchObject({ posts: sample.posts.length, rules: 6 })
  expect(summary["matches"]).toBeGreaterThan(20)
  expect(summary["deliveries"]).toBe(summary["matches"])
  expect(summary["streamed"]).toBe(summary["matches"])
  expect(summary["latency_p99_ms"]).toBeGreaterThanOrEqual(summary["latency_p50_ms"] ?? Number.NaN)
  expect(outcome.stderr).toContain("All checks passed.")
})

test("an interrupted demo cleans up", async () => {
  await using directory = await temporaryDirectory()
  const temporary = join(directory.path, "tmp")
  await mkdir(temporary)
  const child = start(["demo"], { env: { TMPDIR: temporary } })
  child.stdout.once("data", () => child.kill("SIGINT"))
  const outcome = await ended(child)
  expect(outcome.status).toBe(1)
  expect(outcome.stderr).toBe("error: Interrupted by SIGINT.\n")
  expect(await readdir(temporary)).toEqual([])
})

test("the demo fails, and shows where, when the wrong posts arrive", async () => {
  await using server = await startTestServer()
  const sample = await readSample()
  const printed: string[] = []
  const plain = (text: string): string => text
  const demo = runDemo({
    url: server.url,
    app: server.app,
    sample: { ...sample, posts: sample.posts.slice(0, 100) },
    terminal: {
      print: async (line) => void printed.push(line),
      style: { strong: plain, faint: plain, good: plain, bad: plain, mark: plain },
      columns: 100,
    },
    arrivalMsMax: 1500,
    signal: new AbortController().signal,
  })
  await expect(demo).rejects.toThrow("The demo failed these checks:")
  expect(printed.filter((line) => line.includes("✗")).map((line) => line.replace(/ — .*/, "").trim())).toEqual([
    expect.stringMatching(/^✗ \d+ posts delivered, exactly the expected ones$/),
    expect.stringMatching(/^✗ \d+ matches in the log, all delivered$/),
    expect.stringMatching(/^✗ all 84 posts, newest first$/),
    expect.stringMatching(/^✗ \d+ posts streamed, the same as delivered$/),
  ])
})

test("a quantile is one of the numbers", () => {
  const numbers = Array.from({ length: 100 }, (_, at) => 100 - at)
  expect([0.5, 0.99, 1].map((share) => quantile(numbers, share))).toEqual([50, 99, 100])
  expect(quantile([7], 0.5)).toBe(7)
  expect(quantile([], 0.5)).toBe(0)
})
