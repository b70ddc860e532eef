/** `sluice demo`: the whole job on sample posts, on a server of its own that is gone afterwards. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Command } from "commander"
import type { DemoSummary } from "../demo/run-demo.ts"
import { interruption } from "../process/interruption.ts"
import { withDataOnStderr, type Terminal } from "../terminal/terminal.ts"

/** Longest wait for a delivery, or for the stream. Ours: a healthy server takes a hundredth of it. */
const arrivalMsMax = 20_000

/** The command's options and action. */
export function demoCommand(command: Command, deps: { terminal: Terminal }): void {
  const { terminal } = deps
  command
    .option("--json", "print the summary as JSON, and everything else on standard error")
    .action(async (options: { readonly json?: true }) => {
      const signal = interruption()
      const startedAtMs = performance.now()
      const output = options.json === true ? withDataOnStderr(terminal) : terminal
      const summary = await demo(output, signal)
      const seconds = (performance.now() - startedAtMs) / 1000
      for (const line of summaryLines(summary, seconds, output)) await output.print(line)
      if (options.json === true) await terminal.printJson(summary)
    })
}

async function demo(terminal: Terminal, signal: AbortSignal): Promise<DemoSummary> {
  const { loadConfig, startServer } = await import("@sluice/server")
  const { runDemo } = await import("../demo/run-demo.ts")
  const { readSample } = await import("../demo/sample.ts")
  await using resources = new AsyncDisposableStack()
  const data = await mkdtemp(join(tmpdir(), "sluice-demo-"))
  resources.defer(() => rm(data, { recursive: true, force: true }))
  const flags = { data, host: "127.0.0.1", port: "0", "log-level": "error" }
  // The demo is the same for everybody: nothing of it is read from the environment.
  const server = await startServer(loadConfig({ posture: "dev", flags, env: {} }))
  resources.defer(() => server.close())
  const app = await server.apps.create("demo")
  const sample = await readSample()
  return await Promise.race([runDemo({ url: server.url, app, sample, terminal, arrivalMsMax, signal }), server.failed])
}

function summaryLines(summary: DemoSummary, seconds: number, { style }: Pick<Terminal, "style">): string[] {
  const rows = [
    ["posts sent", String(summary.posts)],
    ["matches", `${String(summary.matches)} posts by ${String(summary.rules)} rules`],
    ["deliveries", `${String(summary.deliveries)} to the webhook, ${String(summary.streamed)} down the stream`],
    [
      "latency",
      `p50 ${String(summary.latency_p50_ms)} ms, p99 ${String(summary.latency_p99_ms)} ms, from sending a post to the webhook called`,
    ],
    ["took", `${seconds.toFixed(1)} s`],
  ]
  return [
    "",
    style.good(style.strong("Everything is as it must be.")),
    ...rows.map(([name = "", text = ""]) => `   ${style.faint(name.padEnd(10))}  ${text}`),
    "",
    `Keep one running: ${style.strong("npx sluice dev")}, or in a checkout ${style.strong("npm start")}`,
  ]
}
