/** `sluice serve`: the server as an operator runs it. Nothing is made by itself. */
import { loadConfig, printConfig, settingDescriptions } from "@sluice/server"
import type { Command } from "commander"
import type { Environment } from "../environment.ts"
import { Failure } from "../failure.ts"
import { runServer } from "../run-server.ts"
import { tellingServerFaults } from "../server-faults.ts"
import { visibleLines, type Terminal } from "../terminal.ts"

type ServeOptions = Readonly<Record<string, string | true | undefined>>

/** Adds the command to the program. */
export function addServeCommand(
  program: Command,
  deps: { terminal: Terminal; environment: Environment },
): void {
  const { terminal, environment } = deps
  const serve = program
    .command("serve")
    .description(
      "run the server for others: https webhooks only, private addresses refused, nothing made by itself",
    )
    .option("--config <file>", "settings as JSON or YAML (SLUICE_CONFIG)")
    .option("--database <url>", "PostgreSQL as the store (not available yet)")
    .option("--print-config", "print every setting and where it came from, secrets masked, and end")
  for (const { flag, variable, help } of settingDescriptions)
    serve.option(`--${flag} <value>`, `${help} (${variable})`)

  serve.action((options: ServeOptions) =>
    tellingServerFaults(async () => {
      if (options["database"] !== undefined) {
        throw new Failure("PostgreSQL as the store is not available yet.", [
          "Leave --database out: the embedded store in --data keeps everything in one directory.",
        ])
      }
      const sources = {
        posture: "serve",
        flags: settingFlags(serve, options),
        env: environment.server,
      } as const
      if (options["printConfig"] === true) return terminal.print(visibleLines(printConfig(sources)))
      await runServer(loadConfig(sources), async ({ url }) => {
        terminal.note(`Sluice listens on ${url}. Ctrl-C or SIGTERM ends it.`)
      })
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
