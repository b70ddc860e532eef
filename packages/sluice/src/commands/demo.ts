/** `sluice demo`: the whole job on sample posts, on a server of its own that is gone afterwards. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { loadConfig, startServer } from "@sluice/server"
import type { Command } from "commander"
import { monotonicMs } from "../clock.ts"
import { runDemo, type DemoSummary } from "../demo/run-demo.ts"
import { readSample } from "../demo/sample.ts"
import { interruption } from "../interruption.ts"
import { storyOnStderr, type Terminal } from "../terminal.ts"

/** Longest wait for a delivery, or for the stream. Ours: a healthy server takes a hundredth of it. */
const arrivalMsMax = 20_000

/** Adds the command to the program. */
export function addDemoCommand(program: Command, deps: { terminal: Terminal }): void {
  const { terminal } = deps
  program
    .command("demo")
    .description("show the whole job on sample posts, on a server of its own")
    .option("--json", "print the summary as JSON, and the story on standard error")
    .action(async (options: { readonly json?: true }) => {
      const signal = interruption()
      const startedAtMs = monotonicMs()
      const story = options.json === true ? storyOnStderr(terminal) : terminal
      const summary = await demo(story, signal)
      const seconds = (monotonicMs() - startedAtMs) / 1000
      for (const line of summaryLines(summary, seconds, story)) await story.print(line)
      if (options.json === true) await terminal.printJson(summary)
    })
}

async function demo(terminal: Terminal, signal: AbortSignal): Promise<DemoSummary> {
  await using resources = new AsyncDisposableStack()
  const data = await mkdtemp(join(tmpdir(), "sluice-demo-"))
  resources.defer(() => rm(data, { recursive: true, force: true }))
  const flags = { data, host: "127.0.0.1", port: "0", "log-level": "error" }
  // The demo is the same for everybody: nothing of it is read from the environment.
  const server = await startServer(loadConfig({ posture: "dev", flags, env: {} }))
  resources.defer(() => server.close())
  const app = await server.apps.create("demo")
  const sample = await readSample()
  return await Promise.race([
    runDemo({ url: server.url, app, sample, terminal, arrivalMsMax, signal }),
    server.failed,
  ])
}

function summaryLines(summary: DemoSummary, seconds: number, { style }: Pick<Terminal, "style">): string[] {
  const rows = [
    ["posts in", String(summary.posts)],
    ["matches", `${String(summary.matches)} posts by ${String(summary.rules)} rules`],
    [
      "deliveries",
      `${String(summary.deliveries)} to the webhook, ${String(summary.streamed)} down the stream`,
    ],
    [
      "latency",
      `p50 ${String(summary.latency_p50_ms)} ms, p99 ${String(summary.latency_p99_ms)} ms, from pouring a post in to the webhook called`,
    ],
    ["took", `${seconds.toFixed(1)} s`],
  ]
  return [
    "",
    style.good(style.strong("Everything is as it must be.")),
    ...rows.map(([name = "", text = ""]) => `   ${style.faint(name.padEnd(10))}  ${text}`),
    "",
    `Keep one running: ${style.strong("npm start")}`,
  ]
}
