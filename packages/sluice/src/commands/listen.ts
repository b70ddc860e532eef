/** `sluice listen`: a temporary webhook receiver on this machine. */
import { InvalidArgumentError, type Command } from "commander"
import { withConnectionOptions, type ConnectionOptions } from "../connection/connection.ts"
import { Failure } from "../process/failure.ts"
import { interruptionOrOrphaned } from "../process/interruption.ts"
import { failingStatusDefault } from "../listen/faults.ts"
import { serveApp } from "../listen/dev-server.ts"
import { listen } from "../listen/listen.ts"
import type { CommandContext } from "../terminal/terminal.ts"
import { portNumber } from "./dev.ts"
import { duration, numberMatching } from "./option-values.ts"

interface ListenOptions extends ConnectionOptions {
  readonly forwardTo?: string
  readonly rule: readonly string[]
  readonly failRate?: number
  readonly latency: number
  readonly status?: number
  readonly port: string
  readonly keep?: true
  readonly json?: true
}

/** Longest latency: beyond 10 s every delivery times out. Ours. */
const latencyMsMax = 60_000

const latency = duration("a time of at most 60s, such as 200ms or 1.5s", latencyMsMax)
const share = numberMatching(/^(0|1|0?\.\d{1,6}|1\.0{1,6})$/, "a share from 0 to 1, such as 0.1")
const statusCode = numberMatching(/^[2-5]\d\d$/, "a status from 200 to 599")

/** The command's options and action. */
export function listenCommand(command: Command, context: CommandContext): void {
  withConnectionOptions(command)
    .option("--forward-to <url>", "Forward each delivery to this URL, and return its response", targetUrl)
    .option("--rule <value>", "Add this rule while listening; may be repeated", collected, [])
    .option("--fail-rate <share>", "Share of deliveries that fail, 0 to 1", share)
    .option("--latency <time>", "Delay each response by at least this time, for example 200ms or 1.5s", latency, 0)
    .option(
      "--status <code>",
      `Status of failing deliveries (default: ${String(failingStatusDefault)}); without --fail-rate, every delivery fails`,
      statusCode,
    )
    .option("--port <number>", "Port to listen on, 0 for a free one", portNumber, "0")
    .option("--link", "Link the webhook to the stream; it always is")
    .option("--keep", "Keep webhook, link and rules at the end; the next `listen --keep` receives missed matches")
    .option("--json", "Print each delivery as one line of JSON")
    .addHelpText(
      "after",
      `
Registers a webhook, links it to the stream, verifies both signatures of each delivery, and removes the webhook when it
ends. If no server is running, starts one as \`sluice dev\` does. If the app has no rules, adds the rule "sluice" while it
runs. \`sluice trigger\` sends a post that matches.`,
    )
    .action(async (options: ListenOptions) => {
      const { terminal } = context
      const failRate = options.failRate ?? (options.status === undefined ? 0 : 1)
      const settings = {
        faults: { failRate, status: options.status ?? failingStatusDefault, latencyMs: options.latency },
        forwardTo: options.forwardTo,
        rules: options.rule,
        port: Number(options.port),
        isKept: options.keep === true,
        isJson: options.json === true,
      }
      await using app = await serveApp(options, context)
      await Promise.race([
        listen(
          settings,
          app,
          terminal,
          AbortSignal.any([interruptionOrOrphaned(context.environment), terminal.readerGone]),
        ),
        app.failed,
      ])
    })
}

function collected(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}

function targetUrl(text: string): string {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError("Expected a URL such as http://127.0.0.1:3000/hook.")
  }
  // `fetch` rejects them, and messages would reveal them.
  if (url.username + url.password !== "")
    throw new Failure("The URL to forward to must not contain a user or a password.")
  return text
}
