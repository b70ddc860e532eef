/** `sluice migrate`: from a data directory to PostgreSQL, with no server running. */
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

/** The command's options and action. Ctrl-C may end it anywhere: what is not complete is not there. */
export function migrateCommand(command: Command, { terminal, environment }: CommandContext): void {
  command
    .requiredOption("--from <directory>", "the data directory; it is only read, and stays as it is")
    .option("--to <url>", "the empty database, postgres://… (better SLUICE_DATABASE, as a flag is visible to others)")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      `
The store is examined as \`sluice doctor\` does it, copied in one transaction, and compared; only what is the same is kept.
When it is interrupted, nothing is in the database: run it again.`,
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

/** A large store takes minutes, so each stage is announced, and rows are counted on a terminal. */
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
    `Moved to the ${place}, and the same in every number. ${found}`,
    ...(changed === 0 ? [] : [`In ${changed.toLocaleString("en")} texts a NUL became U+FFFD: PostgreSQL takes none.`]),
    keyIsAt === undefined
      ? "The servers on the database need the master key of this store: the SLUICE_MASTER_KEY that is set now."
      : `The servers on the database need the master key of this store: set SLUICE_MASTER_KEY to what ${keyIsAt} holds.`,
    `Start no server on ${from} again: it would send what servers on the database send, too.`,
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
