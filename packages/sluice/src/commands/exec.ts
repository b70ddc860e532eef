/** `sluice exec`: a command with a private development server. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Command } from "commander"
import { runCommand } from "../process/child-command.ts"
import { devCredentials } from "../own-server/dev-credentials.ts"
import { startWithConsole, withServerFailures } from "../own-server/own-server.ts"
import { serverVariables } from "../own-server/server-variables.ts"
import { ExitStatus } from "../process/exit-status.ts"
import { Failure } from "../process/failure.ts"
import { interruptionOrOrphaned } from "../process/interruption.ts"
import type { CommandContext } from "../terminal/terminal.ts"
import { duration } from "./option-values.ts"

interface ExecOptions {
  readonly timeout?: number
  readonly config?: string
}

/** Longest time limit: a day. Ours. */
const timeoutMsMax = 86_400_000

/** The status of a command that ran out of time. Source: GNU coreutils, "timeout invocation". */
const timedOut = 124

/** Settings that would have the server use data or posts of others, or a port that others may use. */
const ownSettings = /^SLUICE_(?:DATA|DATABASE|PORT|HOST|NATS_.*|METRICS_.*)$/

/** The command's arguments, options and action. */
export function execCommand(command: Command, context: CommandContext): void {
  command
    .usage("[options] -- <command> [argument...]")
    .argument("<command>", "The command, such as npm")
    .argument("[arguments...]", "Its arguments")
    .option(
      "--timeout <time>",
      "End the command after this time, with the status 124",
      duration("a time such as 90s or 10m", timeoutMsMax),
    )
    .option("--config <file>", "Settings file of the server (default: SLUICE_CONFIG)")
    .addHelpText(
      "after",
      `
Starts a server as \`sluice dev\` does, with an empty store and a free port, runs the command with SLUICE_URL, SLUICE_TOKEN,
SLUICE_CONSUMER_SECRET, SLUICE_CLIENT_SECRET and SLUICE_OPERATOR_TOKEN, stops the server and all that the command has left
running, and exits with the status of the command.`,
    )
    .action((name: string, args: readonly string[], options: ExecOptions) =>
      withServerFailures(() => exec([name, ...args], options, context)),
    )
}

async function exec(
  [command = "", ...args]: readonly string[],
  { timeout, config: file }: ExecOptions,
  { environment }: CommandContext,
): Promise<void> {
  const interrupted = interruptionOrOrphaned(environment)
  await using resources = new AsyncDisposableStack()
  const data = await mkdtemp(join(tmpdir(), "sluice-exec-"))
  resources.defer(() => rm(data, { recursive: true, force: true }))
  const { loadConfig } = await import("@sluice/server/config")
  const given = Object.entries(environment.server).filter(([name]) => !ownSettings.test(name))
  const env = { SLUICE_LOG_LEVEL: "error", ...Object.fromEntries(given) }
  const server = await startWithConsole(loadConfig({ posture: "dev", flags: { data, port: "0", config: file }, env }))
  resources.defer(() => server.close())
  const { app, operator_token: operatorToken } = await devCredentials(server.apps, data)
  const late = timeout === undefined ? [] : [AbortSignal.timeout(timeout)]
  const failed = new AbortController()
  server.failed.catch((error: unknown) => failed.abort(error))
  const variables = serverVariables(server.url, app, operatorToken)
  const signal = AbortSignal.any([interrupted, failed.signal, ...late])
  const run = runCommand({ command, args, env: { ...environment.server, ...variables } }, signal)
  const status = await run.catch((error: unknown) => {
    if (!late.some(({ reason }) => reason === error)) throw error
    throw new Failure(`The command did not end within ${String((timeout ?? 0) / 1_000)} s.`, [], { status: timedOut })
  })
  if (status !== 0) throw new ExitStatus(status)
}
