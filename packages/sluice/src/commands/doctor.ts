/** `sluice doctor`: checks a store, its settings and its endpoints, and that no match is lost. */
import type { Examination, Finding } from "@sluice/server"
import type { Command } from "commander"
import { Failure } from "../process/failure.ts"
import { withStoreOptions, type StoreOptions } from "../own-server/own-server.ts"
import { counted, padded } from "../terminal/table.ts"
import { messageText, type Style, type CommandContext } from "../terminal/terminal.ts"

interface DoctorOptions extends StoreOptions {
  readonly config?: string
  readonly offline?: true
  readonly json?: true
}

/** Widths of the columns for level and subject. */
const levelColumns = "warning".length + 2
const subjectColumns = "deliveries".length + 2

/**
 * The command's options and action. It handles no signals: it changes nothing, so Ctrl-C may end it at any time.
 */
export function doctorCommand(command: Command, { terminal, environment }: CommandContext): void {
  withStoreOptions(command)
    .option("--config <file>", "Settings file of the server (default: SLUICE_CONFIG)")
    .option("--offline", "Do not challenge endpoints (by default, each valid one is challenged once)")
    .option("--json", "Print the findings as one JSON value")
    .action(async ({ data, database, config, offline, json }: DoctorOptions) => {
      const { examine } = await import("@sluice/server")
      const examination = await examine({
        flags: { data, database, config },
        env: environment.server,
        isOffline: offline === true,
      })
      if (json === true) await terminal.printJson(examination)
      else for (const line of linesOf(examination.findings, terminal.style)) await terminal.print(line)
      const warnings = numberText(examination, "warning")
      if (!examination.ok) {
        const errors = numberText(examination, "error")
        throw new Failure(`Problems found: ${errors}, ${warnings}.`)
      }
      if (json !== true) terminal.note(terminal.noteStyle.strong(`No errors, ${warnings}.`))
    })
}

/** A line for each finding, followed by its advice. */
function linesOf(findings: readonly Finding[], style: Style): readonly string[] {
  const styles = { ok: style.good, warning: style.mark, error: style.bad }
  return findings.flatMap(({ level, subject, text, advice }) => {
    const start = styles[level](padded(level, levelColumns)) + padded(subject, subjectColumns)
    const line = `${start}${messageText(text)}`
    if (advice === undefined) return [line]
    return [line, `${padded("", levelColumns + subjectColumns)}${style.faint(`→ ${messageText(advice)}`)}`]
  })
}

function numberText({ findings }: Examination, level: Finding["level"]): string {
  const count = findings.filter((finding) => finding.level === level).length
  return count === 0 ? `no ${level}s` : counted(count, level)
}
