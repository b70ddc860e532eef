/** `sluice listen`: a webhook receiver that registers itself. */
import { InvalidArgumentError, type Command } from "commander"
import { withConnectionOptions, type ConnectionOptions } from "../connection/connection.ts"
import { Failure } from "../process/failure.ts"
import { interruption } from "../process/interruption.ts"
import { failingStatusDefault } from "../listen/faults.ts"
import { serveApp } from "../listen/dev-server.ts"
import { listen } from "../listen/listen.ts"
import type { CommandContext } from "../terminal/terminal.ts"
import { portNumber } from "./dev.ts"

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

/** Longest latency that can be asked for: beyond 10 s every delivery times out anyway. Ours. */
const latencyMsMax = 60_000

/** The command's options and action. */
export function listenCommand(command: Command, context: CommandContext): void {
  withConnectionOptions(command)
    .option("--forward-to <url>", "pass each delivery on to this URL, and its answer back", targetUrl)
    .option("--rule <value>", "add this rule meanwhile; may be given several times", collected, [])
    .option("--fail-rate <share>", "answer this share of the deliveries with the failing status, 0 to 1", share)
    .option("--latency <time>", "answer no sooner than this, for example 200ms or 1.5s", durationMs, 0)
    .option(
      "--status <code>",
      `the failing status, else ${String(failingStatusDefault)}; alone: of every answer`,
      statusCode,
    )
    .option("--port <number>", "port to listen on, 0 for a free one", portNumber, "0")
    .option("--keep", "leave webhook, link and rules when it ends; the next `listen --keep` gets what it missed")
    .option("--json", "print each delivery whole, a line of JSON each")
    .addHelpText(
      "after",
      `
Registers itself through a challenge, links itself to the stream, checks both signatures of each delivery, and removes
what it added when it ends. If no server runs here, it starts one, as \`sluice dev\` does. An app without rules gets the
rule "sluice" meanwhile. \`sluice trigger\` sends a post that matches.`,
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
        listen(settings, app, terminal, AbortSignal.any([interruption(), terminal.readerGone])),
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
    throw new InvalidArgumentError("A URL is expected, such as http://127.0.0.1:3000/hook.")
  }
  // `fetch` refuses them, and they would show in messages.
  if (url.username + url.password !== "") throw new Failure("The URL to forward to may not hold a user or a password.")
  return text
}

function share(text: string): number {
  const value = /^(0|1|0?\.\d{1,6}|1\.0{1,6})$/.test(text) ? Number(text) : Number.NaN
  if (Number.isNaN(value)) throw new InvalidArgumentError("A share from 0 to 1 is expected, such as 0.1.")
  return value
}

function durationMs(text: string): number {
  const [, amount, unit] = /^(\d{1,6}(?:\.\d{1,3})?)(ms|s)$/.exec(text) ?? []
  const value = Number(amount) * (unit === "s" ? 1_000 : 1)
  if (amount === undefined || value > latencyMsMax) {
    throw new InvalidArgumentError("A time of at most 60s is expected, such as 200ms or 1.5s.")
  }
  return value
}

function statusCode(text: string): number {
  if (/^[2-5]\d\d$/.test(text)) return Number(text)
  throw new InvalidArgumentError("A status from 200 to 599 is expected.")
}
