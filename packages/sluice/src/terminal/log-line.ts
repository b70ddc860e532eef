/** A line of the server's log for people: the time, the level, the message, and the fields that matter. */
import { terminalText } from "./terminal-text.ts"
import type { Style } from "./terminal.ts"

/** Levels of pino. Source: its manual, "levels". */
const levels: Readonly<Record<number, string>> = { 20: "debug", 30: "info", 40: "warn", 50: "error", 60: "fatal" }

/** Members of each line that people do not need. */
const unshown = new Set(["level", "time", "pid", "hostname", "msg", "err"])

const saidByCommands = new Set(["ready", "closing"])

/** Widest text of a message, of a field and of an error, in columns. Ours. */
const [messageColumnsMax, fieldColumnsMax, errorColumnsMax] = [200, 120, 400]

/** The line of text for a line of JSON, both with their line end; empty for what the commands say themselves. */
export function logLine(line: string, style: Style): string {
  const record = recordOf(line)
  if (record === undefined) return `${terminalText(line.trimEnd(), errorColumnsMax)}\n`
  const { level, time, msg, err } = record
  if (saidByCommands.has(String(msg))) return ""
  const name = (levels[Number(level)] ?? "").padEnd(5)
  const shown = Number(level) >= 50 ? style.bad(name) : Number(level) >= 40 ? style.mark(name) : style.faint(name)
  const fields = Object.entries(record).flatMap(([key, value]) => (unshown.has(key) ? [] : fieldText(key, value)))
  const parts = [
    style.faint(new Date(Number(time)).toTimeString().slice(0, 8)),
    shown,
    terminalText(String(msg), messageColumnsMax),
    ...(fields.length === 0 ? [] : [style.faint(fields.join(" "))]),
    ...(err === undefined ? [] : [style.bad(terminalText(errorText(err), errorColumnsMax))]),
  ]
  return `${parts.join("  ")}\n`
}

function recordOf(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}

function fieldText(key: string, value: unknown): readonly string[] {
  if (value === null || value === "") return []
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return [`${key}=${terminalText(text, fieldColumnsMax)}`]
}

function errorText(error: unknown): string {
  const { message } = (error ?? {}) as { readonly message?: unknown }
  return typeof message === "string" ? message : JSON.stringify(error)
}
