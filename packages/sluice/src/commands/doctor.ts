/** `sluice doctor`: is everything as it must be, and is nothing lost? */
import type { Examination, Finding } from "@sluice/server"
import type { Command } from "commander"
import { Failure } from "../process/failure.ts"
import { withStoreOptions, type StoreOptions } from "../own-server/own-server.ts"
import { padded } from "../terminal/table.ts"
import { messageText, type Style, type CommandContext } from "../terminal/terminal.ts"

interface DoctorOptions extends StoreOptions {
  readonly config?: string
  readonly offline?: true
  readonly json?: true
}

/** Columns of a level and of a subject, the space after them included. */
const levelColumns = "warning".length + 2
const subjectColumns = "deliveries".length + 2

/**
 * The command's options and action. It listens to no signal: it changes nothing, so Ctrl-C may end it anywhere, in the
 * middle of a long read of the store too.
 */
export function doctorCommand(command: Command, { terminal, environment }: CommandContext): void {
  withStoreOptions(command)
    .option("--config <file>", "the server's settings (SLUICE_CONFIG)")
    .option("--offline", "leave the endpoints alone; else each valid one is challenged once")
    .option("--json", "print what was found as one JSON value")
    .action(async ({ data, database, config, offline, json }: DoctorOptions) => {
      const { examine } = await import("@sluice/server")
      const examination = await examine({
        flags: { data, database, config },
        env: environment.server,
        isOffline: offline === true,
      })
      if (json === true) await terminal.printJson(examination)
      else for (const line of linesOf(examination.findings, terminal.style)) await terminal.print(line)
      const warnings = count(numberOf(examination, "warning"), "warning")
      if (!examination.ok) {
        const errors = count(numberOf(examination, "error"), "error")
        throw new Failure(`Not everything is as it must be: ${errors}, ${warnings}.`)
      }
      if (json !== true) terminal.note(terminal.noteStyle.strong(`Nothing is broken: no errors, ${warnings}.`))
    })
}

/** Each finding in a line, and what to do about it in another. */
function linesOf(findings: readonly Finding[], style: Style): readonly string[] {
  const styles = { ok: style.good, warning: style.mark, error: style.bad }
  return findings.flatMap(({ level, subject, text, advice }) => {
    const start = styles[level](padded(level, levelColumns)) + padded(subject, subjectColumns)
    const line = `${start}${messageText(text)}`
    if (advice === undefined) return [line]
    return [line, `${padded("", levelColumns + subjectColumns)}${style.faint(`→ ${messageText(advice)}`)}`]
  })
}

function numberOf({ findings }: Examination, level: Finding["level"]): number {
  return findings.filter((finding) => finding.level === level).length
}

function count(number: number, noun: string): string {
  return number === 0 ? `no ${noun}s` : `${number} ${noun}${number === 1 ? "" : "s"}`
}
