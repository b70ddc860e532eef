/** `sluice mark-restored`: starts a new epoch of a store that was restored without `sluice restore`. */
import type { Command } from "commander"
import {
  existingServerConfig,
  withServerFailures,
  withServerOptions,
  type ServerOptions,
} from "../own-server/own-server.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"

/** The command's options and action. */
export function markRestoredCommand(command: Command, { terminal, environment }: CommandContext): void {
  withServerOptions(command)
    .addHelpText(
      "after",
      `
Needed after restoring a copy of a data directory, a snapshot of a disk or a machine, or a copy of PostgreSQL's files that
was started without recovery.signal. Not needed after \`sluice restore\`, pg_restore, a recovery with recovery.signal, or
a failover.`,
    )
    .action((options: ServerOptions) =>
      withServerFailures(async () => {
        const { markRestored } = await import("@sluice/server")
        const config = await existingServerConfig(options, environment)
        const { epoch } = await markRestored(config)
        if (options.json === true) return terminal.printJson({ epoch })
        const line =
          `New matches, attempts and dead letters get ids that no other copy of the store uses: event ids have the epoch ` +
          `${epoch}. Existing ids do not change.`
        await terminal.print(messageText(line))
      }),
    )
}
