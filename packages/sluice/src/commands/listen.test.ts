import { once } from "node:events"
import { createInterface } from "node:readline"
import { expect, test } from "vitest"
import { ended, run, start } from "../command.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"

test("from an empty directory, listen and trigger are enough for a first delivery, and SIGINT leaves nothing", async () => {
  await using directory = await temporaryDirectory()
  const surroundings = { cwd: directory.path, env: { SLUICE_PORT: "0" } }
  const child = start(["listen", "--json", "--rule", "heron"], surroundings)
  const stderr = createInterface(child.stderr)
  const notes: string[] = []
  stderr.on("line", (line) => notes.push(line))
  await expect.poll(() => notes.join("\n"), { timeout: 120_000 }).toContain("sluice trigger")
  expect(notes[0]).toContain("Started a development server")
  const [sent, [line]] = await Promise.all([
    run(["trigger"], surroundings),
    once(createInterface(child.stdout), "line") as Promise<[string]>,
  ])
  expect(sent).toMatchObject({ status: 0 })
  expect(JSON.parse(line)).toMatchObject({ status: 200, body: { data: { text: "heron" } } })
  child.kill("SIGINT")
  const outcome = await ended(child)
  expect(outcome.status).toBe(0)
  expect(notes.join("\n")).toMatch(/Removed webhook \d+, its link and 1 rule\./)
}, 240_000)

test("invalid options are wrong usage", async () => {
  const wrong = [
    ["--forward-to", "ftp://a"],
    ["--fail-rate", "2"],
    ["--latency", "soon"],
    ["--latency", "2000s"],
    ["--status", "99"],
    ["--port", "70000"],
  ]
  for (const options of wrong) {
    expect(await run(["listen", ...options]), options.join(" ")).toMatchObject({ status: 2 })
  }
})

test("with a token and no secret, listen names the missing secret", async () => {
  const outcome = await run(["listen"], { env: { SLUICE_URL: "http://127.0.0.1:1", SLUICE_TOKEN: "t" } })
  expect(outcome).toMatchObject({ status: 1 })
  expect(outcome.stderr).toContain("Set SLUICE_CLIENT_SECRET or SLUICE_CONSUMER_SECRET in addition to the token.")
})
