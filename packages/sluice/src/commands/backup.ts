/** `sluice backup` and `sluice restore`, on the store itself. */
import type { RestoredStore, StoreBackup } from "@sluice/server"
import type { Command } from "commander"
import { serverConfig, withServerFailures, withServerOptions, type ServerOptions } from "../own-server/own-server.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"

/** The options and action of `backup`. */
export function backupCommand(command: Command, context: CommandContext): void {
  const { terminal } = context
  withServerOptions(command)
    .argument("<directory>", "Directory for the backup, empty or not existing")
    .option("--with-key", "Include the master key, which decrypts all secrets of the store")
    .action((directory: string, { withKey = false, ...options }: ServerOptions & { readonly withKey?: boolean }) =>
      withServerFailures(async () => {
        const { backUpStore } = await import("@sluice/server")
        const config = await serverConfig(options, context.environment)
        const made = await backUpStore(config, directory, { withKey, report: reporter(options, context) })
        if (options.json === true) return terminal.printJson(made)
        for (const line of backupLines(made)) await terminal.print(messageText(line))
      }),
    )
}

/** The options and action of `restore`. */
export function restoreCommand(command: Command, context: CommandContext): void {
  const { terminal } = context
  withServerOptions(command)
    .argument("<directory>", "Directory of the backup")
    .action((from: string, options: ServerOptions) =>
      withServerFailures(async () => {
        const { restoreStore } = await import("@sluice/server")
        const config = await serverConfig(options, context.environment)
        const restored = await restoreStore(from, config, { report: reporter(options, context) })
        if (options.json === true) return terminal.printJson(restored)
        for (const line of restoredLines(restored, from)) await terminal.print(messageText(line))
      }),
    )
}

/** Announces each stage: a large store takes minutes. */
function reporter({ json }: ServerOptions, { terminal }: CommandContext) {
  return (stage: "copying" | "verifying"): void => {
    if (json !== true) terminal.note(stage === "copying" ? "Copying the store …" : "Verifying the copy …")
  }
}

function backupLines({ directory, made_at: madeAt, bytes, found, keyIsAt }: StoreBackup): readonly string[] {
  const size = `${(bytes / 1_048_576).toLocaleString("en", { maximumFractionDigits: 1 })} MiB`
  return [
    `Backed up to ${directory}, as of ${madeAt}, ${size}. ${found}`,
    keyIsAt === undefined
      ? "The backup contains the master key: protect it from other readers."
      : `The backup does not contain the master key, without which its secrets are unreadable: keep a copy of ${keyIsAt} elsewhere.`,
  ]
}

function restoredLines(
  { directory, made_at: madeAt, checksum, found, master_key: key }: RestoredStore,
  from: string,
): readonly string[] {
  return [
    `Restored to ${directory}${madeAt === undefined ? "" : `, as of ${madeAt}`}. ${found}`,
    ...(checksum === "unknown"
      ? [
          `The store is intact, but ${from} has no backup.json with its SHA-256, so it may differ from the original backup.`,
        ]
      : []),
    ...(key === "missing"
      ? [
          `Before you start a server, put the key file at ${directory}/master.key (mode 0600), or set SLUICE_MASTER_KEY.`,
        ]
      : []),
    "Links continue from their positions in the backup: later deliveries are repeated, and posts that were accepted later " +
      "must be sent again. New matches get new webhook-ids.",
  ]
}
