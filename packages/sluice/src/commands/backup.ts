/** `sluice backup` and `sluice restore`: on the store itself, server running or not. */
import type { Config, RestoredStore, StoreBackup } from "@sluice/server"
import type { Command } from "commander"
import { withServerFailures, withStoreOptions, type StoreOptions } from "../own-server/own-server.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"

interface CopyOptions extends StoreOptions {
  readonly config?: string
  readonly json?: true
}

/** The options and action of `backup`. */
export function backupCommand(command: Command, context: CommandContext): void {
  const { terminal } = context
  withCopyOptions(command)
    .argument("<directory>", "where to put it: a directory that is empty or not there yet")
    .option("--with-key", "put the master key into it too: with it, all secrets of the store can be read")
    .action((directory: string, { withKey = false, ...options }: CopyOptions & { readonly withKey?: boolean }) =>
      withServerFailures(async () => {
        const { backUpStore } = await import("@sluice/server")
        const config = await configOf(options, context)
        const made = await backUpStore(config, directory, { withKey, report: reporter(options, context) })
        if (options.json === true) return terminal.printJson(made)
        for (const line of backupLines(made)) await terminal.print(messageText(line))
      }),
    )
}

/** The options and action of `restore`. */
export function restoreCommand(command: Command, context: CommandContext): void {
  const { terminal } = context
  withCopyOptions(command)
    .argument("<directory>", "the backup")
    .action((from: string, options: CopyOptions) =>
      withServerFailures(async () => {
        const { restoreStore } = await import("@sluice/server")
        const config = await configOf(options, context)
        const restored = await restoreStore(from, config, { report: reporter(options, context) })
        if (options.json === true) return terminal.printJson(restored)
        for (const line of restoredLines(restored, from)) await terminal.print(messageText(line))
      }),
    )
}

function withCopyOptions(command: Command): Command {
  return withStoreOptions(command)
    .option("--config <file>", "the server's settings (SLUICE_CONFIG)")
    .option("--json", "print the result as JSON")
}

async function configOf({ data, database, config }: CopyOptions, { environment }: CommandContext): Promise<Config> {
  const { loadConfig } = await import("@sluice/server/config")
  return loadConfig({ posture: "serve", flags: { data, database, config }, env: environment.server })
}

/** A large store takes minutes, so each stage is announced. */
function reporter({ json }: CopyOptions, { terminal }: CommandContext) {
  return (stage: "copying" | "verifying"): void => {
    if (json !== true) terminal.note(stage === "copying" ? "Copying the store …" : "Verifying the copy …")
  }
}

function backupLines({ directory, made_at: madeAt, bytes, found, keyIsAt }: StoreBackup): readonly string[] {
  const size = `${(bytes / 1_048_576).toLocaleString("en", { maximumFractionDigits: 1 })} MiB`
  return [
    `Backed up to ${directory}, as of ${madeAt}, ${size}. ${found}`,
    keyIsAt === undefined
      ? "The master key is in it: keep it where nobody else can read it."
      : `The master key is not in it, and without it no secret can be read: keep a copy of ${keyIsAt} elsewhere.`,
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
          `No SHA-256 could be checked, because ${from} has no backup.json: the store is whole in itself, and nothing says ` +
            "that it is the one that was backed up.",
        ]
      : []),
    ...(key === "missing"
      ? [
          `Before a server can start: put the key file at ${directory}/master.key (mode 0600), or set SLUICE_MASTER_KEY.`,
        ]
      : []),
    "Links go on from where they were then: what was delivered since is delivered again, and posts accepted since are " +
      "to be sent again. New matches have a webhook-id that was never given out.",
  ]
}
