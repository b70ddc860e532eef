/** `sluice serve`: the server as an operator runs it. Nothing is made by itself. */
import type { RunningServer } from "@sluice/server"
import { loadConfig, printConfig, settingDescriptions } from "@sluice/server/config"
import type { Command } from "commander"
import { newHelp, runServer, withServerFailures } from "../own-server/own-server.ts"
import { visibleLines, type CommandContext } from "../terminal/terminal.ts"

type ServeOptions = Readonly<Record<string, string | true | undefined>>

/** The command's options and action. */
export function serveCommand(command: Command, { terminal, environment }: CommandContext): void {
  command
    .option("--config <file>", "settings as JSON or YAML (SLUICE_CONFIG)")
    .option("--new", newHelp)
    .option("--print-config", "print every setting and where it came from, secrets masked, and end")
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
        if (metricsUrl !== undefined) terminal.note(`Its metrics are at ${metricsUrl}.`)
        terminal.note(`Sluice listens on ${url}. Ctrl-C or SIGTERM ends it.`)
      }
      const { consoleDirectory } = await import("@sluice/console")
      const waiting = (reason: string): void => terminal.note(`${reason} Sluice tries again every second.`)
      await runServer(loadConfig(sources), { ready, waiting }, { isNew: options["new"] === true, consoleDirectory })
    }),
  )
}

/** The options that were given, by the names that the server's configuration knows. */
function settingFlags(command: Command, options: ServeOptions): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    command.options.flatMap((option) => {
      const value = options[option.attributeName()]
      return typeof value === "string" ? [[option.name(), value]] : []
    }),
  )
}
