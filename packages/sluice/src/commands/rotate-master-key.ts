/** `sluice rotate-master-key`: encrypts all secrets with a new key, without a running server. */
import type { Command } from "commander"
import {
  existingServerConfig,
  withServerFailures,
  withServerOptions,
  type ServerOptions,
} from "../own-server/own-server.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"

/** The command's options and action. */
export function rotateMasterKeyCommand(command: Command, { terminal, environment }: CommandContext): void {
  withServerOptions(command).action((options: ServerOptions) =>
    withServerFailures(async () => {
      const { rotateMasterKey } = await import("@sluice/server")
      const config = await existingServerConfig(options, environment)
      const rotated = await rotateMasterKey(config, environment.server["SLUICE_NEW_MASTER_KEY"])
      if (options.json === true) return terminal.printJson(rotated)
      const { apps, webhooks, oldKeyIsAt } = rotated
      const lines = [
        `Encrypted the secrets of ${String(apps)} apps and ${String(webhooks)} webhooks with the new key.`,
        oldKeyIsAt === undefined
          ? "Set SLUICE_MASTER_KEY to the new key before you start the server. Earlier backups need the old key."
          : `The old key is ${oldKeyIsAt}. Earlier backups need it: move it next to them.`,
        "The bearer tokens of all apps are revoked; POST /oauth2/token returns new ones for the unchanged consumer keys and " +
          "secrets. Page tokens and sessions are revoked too; operator and ingest tokens are still valid.",
      ]
      for (const line of lines) await terminal.print(messageText(line))
    }),
  )
}
