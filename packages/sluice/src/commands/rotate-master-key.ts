/** `sluice rotate-master-key`: on the store itself, with no server running. */
import type { Command } from "commander"
import { requireDirectory, withServerFailures, withStoreOptions, type StoreOptions } from "../own-server/own-server.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"

interface RotateOptions extends StoreOptions {
  readonly config?: string
  readonly json?: true
}

/** The command's options and action. */
export function rotateMasterKeyCommand(command: Command, { terminal, environment }: CommandContext): void {
  withStoreOptions(command)
    .option("--config <file>", "the server's settings (SLUICE_CONFIG)")
    .option("--json", "print the result as JSON")
    .action(({ data, database, config: file, json }: RotateOptions) =>
      withServerFailures(async () => {
        const { loadConfig, rotateMasterKey } = await import("@sluice/server")
        const config = loadConfig({
          posture: "serve",
          flags: { data, database, config: file },
          env: environment.server,
        })
        requireDirectory(config)
        const rotated = await rotateMasterKey(config, environment.server["SLUICE_NEW_MASTER_KEY"])
        if (json === true) return terminal.printJson(rotated)
        const { apps, webhooks, oldKeyIsAt } = rotated
        const lines = [
          `Sealed anew: the secrets of ${String(apps)} apps and ${String(webhooks)} webhooks.`,
          oldKeyIsAt === undefined
            ? "Set SLUICE_MASTER_KEY to the new key before the server starts. Backups made before need the old one."
            : `The old key is ${oldKeyIsAt}. Backups made before need it: keep it with them, and not here.`,
          "The bearer tokens of all apps have ended. Consumer keys and secrets are the same: POST /oauth2/token returns " +
            "an app's new token for them. Page tokens and sessions have ended, too; operator and ingest tokens have not.",
        ]
        for (const line of lines) await terminal.print(messageText(line))
      }),
    )
}
