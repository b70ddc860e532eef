/** `sluice serve`: the production server. It creates no app. */
import type { RunningServer } from "@sluice/server"
import { loadConfig, printConfig, settingDescriptions } from "@sluice/server/config"
import type { Command } from "commander"
import { newHelp, runServer, withServerFailures } from "../own-server/own-server.ts"
import { interruption } from "../process/interruption.ts"
import { visibleLines, type CommandContext } from "../terminal/terminal.ts"

type ServeOptions = Readonly<Record<string, string | true | undefined>>

/** The command's options and action. */
export function serveCommand(command: Command, { terminal, environment }: CommandContext): void {
  command
    .option("--config <file>", "Settings file, JSON or YAML (SLUICE_CONFIG)")
    .option("--new", newHelp)
    .option("--print-config", "Print all settings with their sources, secrets masked, and exit")
  for (const { flag, variable, help } of settingDescriptions)
    command.option(`--${flag} <value>`, `${help} (${variable})`)

  command.action((options: ServeOptions) =>
    withServerFailures(async () => {
      const sources = {
        posture: "serve",
        flags: settingFlags(command, options),
        env: environment.server,
      } as const
      if (options["printConfig"] === true) return terminal.print(visibleLines(printConfig(sources)))
      const ready = async ({ url, metricsUrl }: RunningServer): Promise<void> => {
        if (metricsUrl !== undefined) terminal.note(`Metrics: ${metricsUrl}.`)
        terminal.note(`Sluice is listening on ${url}. Stop it with Ctrl-C or SIGTERM.`)
      }
      await runServer(loadConfig(sources), { ready, terminal, isNew: options["new"] === true, signal: interruption() })
    }),
  )
}

/** The given options, by the names of the server's configuration. */
function settingFlags(command: Command, options: ServeOptions): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    command.options.flatMap((option) => {
      const value = options[option.attributeName()]
      return typeof value === "string" ? [[option.name(), value]] : []
    }),
  )
}
