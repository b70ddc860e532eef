/** `sluice token`: tokens that are no app's. */
import { Option, type Command } from "commander"
import { withApps } from "../data-apps.ts"
import type { Environment } from "../environment.ts"
import type { Terminal } from "../terminal.ts"

interface TokenOptions {
  readonly kind: "operator" | "ingest"
  readonly data?: string
  readonly json?: true
}

/** Adds the group to the program. */
export function addTokenCommands(
  program: Command,
  deps: { terminal: Terminal; environment: Environment },
): void {
  const { terminal, environment } = deps
  program
    .command("token")
    .description("tokens for operators and for whoever pours posts in")
    .command("create")
    .description("create a token and print it, this once")
    .addOption(
      new Option("--kind <kind>", "operator: run the server; ingest: pour posts in")
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
