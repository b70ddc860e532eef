/** `sluice demo`: runs sample posts through a temporary server, and checks the result. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Command } from "commander"
import type { DemoSummary } from "../demo/run-demo.ts"
import { interruption } from "../process/interruption.ts"
import { withDataOnStderr, type Terminal } from "../terminal/terminal.ts"

/** Longest wait for a delivery, or for the stream. Ours: a hundred times what a healthy server needs. */
const arrivalMsMax = 20_000

/** The command's options and action. */
export function demoCommand(command: Command, deps: { terminal: Terminal }): void {
  const { terminal } = deps
  command
    .option("--json", "Print the summary as JSON, and all other output to standard error")
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
  // The demo does not depend on the environment.
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
    ["deliveries", `${String(summary.deliveries)} to the webhook, ${String(summary.streamed)} on the stream`],
    [
      "latency",
      `p50 ${String(summary.latency_p50_ms)} ms, p99 ${String(summary.latency_p99_ms)} ms, from sending a post to the call of the webhook`,
    ],
    ["took", `${seconds.toFixed(1)} s`],
  ]
  return [
    "",
    style.good(style.strong("All checks passed.")),
    ...rows.map(([name = "", text = ""]) => `   ${style.faint(name.padEnd(10))}  ${text}`),
    "",
    `Start a server: ${style.strong("npx sluice dev")}, or in a checkout ${style.strong("npm start")}`,
  ]
}
