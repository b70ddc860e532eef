/** `sluice migrate`: moves a store from a data directory to PostgreSQL, without a running server. */
import type { ComparedNumber, Migrated } from "@sluice/server"
import type { Command } from "commander"
import { withServerFailures } from "../own-server/own-server.ts"
import { createProgress, type Progress } from "../terminal/progress.ts"
import { padded } from "../terminal/table.ts"
import { messageText, type CommandContext, type Terminal } from "../terminal/terminal.ts"

interface MigrateOptions {
  readonly from: string
  readonly to?: string
  readonly json?: true
}

/** The command's options and action. Ctrl-C may end it at any time: the copy is one transaction. */
export function migrateCommand(command: Command, { terminal, environment }: CommandContext): void {
  command
    .requiredOption("--from <directory>", "Data directory; it is not changed")
    .option(
      "--to <url>",
      "Empty database, postgres://…; visible to all users of this machine, so prefer SLUICE_DATABASE",
    )
    .option("--json", "Print the result as JSON")
    .addHelpText(
      "after",
      `
Checks the store as \`sluice doctor\` does, copies it in one transaction, compares the copy, and commits only an equal one.
After an interruption the database is empty: run the command again.`,
    )
    .action(({ from, to, json }: MigrateOptions) =>
      withServerFailures(async () => {
        const { migrateStore } = await import("@sluice/server")
        const report = reporter(terminal, json === true)
        try {
          const migrated = await migrateStore({ from, to, env: environment.server, report })
          report.end()
          if (json === true) return await terminal.printJson(migrated)
          for (const line of linesOf(migrated, from)) await terminal.print(messageText(line))
        } finally {
          report.end()
        }
      }),
    )
}

/** Announces each stage and shows the progress on a terminal: a large store takes minutes. */
function reporter(terminal: Terminal, isSilent: boolean) {
  let progress: Progress | undefined
  let copied = 0
  const end = (): void => {
    progress?.end()
    progress = undefined
  }
  return {
    stage(stage: "examining" | "copying" | "verifying", rows = 0): void {
      end()
      if (isSilent) return
      terminal.note(stages[stage](rows))
      if (stage === "copying") {
        progress = createProgress({ byteCount: rows, bytesRead: () => copied }, terminal, "rows")
      }
    },
    progressed(rows: number): void {
      copied = rows
      progress?.update(rows)
    },
    end,
  }
}

const stages = {
  examining: () => "Examining the store …",
  copying: (rows: number) => `Copying ${rows.toLocaleString("en")} rows …`,
  verifying: () => "Comparing the copy with the store …",
}

function linesOf({ place, found, numbers, texts_changed: changed, key_is_at: keyIsAt }: Migrated, from: string) {
  return [
    ...tableOf(numbers),
    `Moved to the ${place}; all counts are equal. ${found}`,
    ...(changed === 0
      ? []
      : [`Replaced NUL by U+FFFD in ${changed.toLocaleString("en")} texts: PostgreSQL does not store NUL.`]),
    keyIsAt === undefined
      ? "The servers on the database need the master key of this store: the current SLUICE_MASTER_KEY."
      : `The servers on the database need the master key of this store: set SLUICE_MASTER_KEY to the content of ${keyIsAt}.`,
    `Do not start a server on ${from} again: it would repeat the deliveries of the servers on the database.`,
  ]
}

function tableOf(numbers: readonly ComparedNumber[]): readonly string[] {
  const rows = [
    ["", "directory", "database"],
    ...numbers.map(({ name, from, to }) => [name, from.toLocaleString("en"), to.toLocaleString("en")]),
  ]
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map(([name = "", from = "", to = ""]) =>
    [padded(name, widths[0] ?? 0), from.padStart(widths[1] ?? 0), to.padStart(widths[2] ?? 0)].join("  "),
  )
}
