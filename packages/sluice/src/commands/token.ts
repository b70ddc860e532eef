/** `sluice token`: tokens of operators and of programs that send posts. */
import { Option, type Command } from "commander"
import { withApps } from "../own-server.ts"
import type { CommandContext } from "../terminal/terminal.ts"

interface TokenOptions {
  readonly kind: "operator" | "ingest"
  readonly data?: string
  readonly json?: true
}

/** The group's commands. */
export function tokenCommands(group: Command, { terminal, environment }: CommandContext): void {
  group
    .command("create")
    .description("create a token and print it, this once")
    .addOption(
      new Option("--kind <kind>", "operator: run the server; ingest: send posts in")
        .choices(["operator", "ingest"])
        .makeOptionMandatory(),
    )
    .option("--data <directory>", "the server's data directory (SLUICE_DATA; else .sluice)")
    .option("--json", "print the token as JSON")
    .action(({ kind, data, json }: TokenOptions) =>
      withApps(data, environment, true, async (apps) => {
        const token = await apps.createToken(kind)
        if (json === true) await terminal.printJson({ kind, token })
        else await terminal.print(token)
      }),
    )
}
