/** `sluice mark-restored`: for a store that came back by other means than `sluice restore`, with no server running. */
import type { Command } from "commander"
import { requireDirectory, withServerFailures, withStoreOptions, type StoreOptions } from "../own-server/own-server.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"

interface MarkOptions extends StoreOptions {
  readonly config?: string
  readonly json?: true
}

/** The command's options and action. */
export function markRestoredCommand(command: Command, { terminal, environment }: CommandContext): void {
  withStoreOptions(command)
    .option("--config <file>", "the server's settings (SLUICE_CONFIG)")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      `
For a copy of a data directory's files, for a snapshot of a disk, of a machine, or of PostgreSQL's disk, and for a base
backup or another copy of PostgreSQL's files that was started without recovery.signal. What \`sluice restore\` has
restored, and a database that pg_restore, a recovery with recovery.signal or a failover has brought, need no mark.`,
    )
    .action(({ data, database, config: file, json }: MarkOptions) =>
      withServerFailures(async () => {
        const { loadConfig, markRestored } = await import("@sluice/server")
        const flags = { data, database, config: file }
        const config = loadConfig({ posture: "serve", flags, env: environment.server })
        requireDirectory(config)
        const { epoch } = await markRestored(config)
        if (json === true) return terminal.printJson({ epoch })
        const line =
          `New matches, attempts and dead letters get ids that no other copy of the store gives out: event ids have the ` +
          `epoch ${epoch}. Ids that the store has given out stay as they are.`
        await terminal.print(messageText(line))
      }),
    )
}
