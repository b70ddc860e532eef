/** The span of a search or a count as options. */
import type { Command } from "commander"
import { instantOption } from "./option-values.ts"

/** Options of the span. */
export interface SpanOptions {
  readonly all?: true
  /** RFC 3339. */
  readonly since?: string
  /** RFC 3339. */
  readonly until?: string
}

/** Adds them to a command. */
export function withSpanOptions(command: Command): Command {
  return command
    .option("--all", "All stored posts (default: those of the last seven days)")
    .option("--since <time>", "Posts from this time on: 2026-03-14T12:00Z", instantOption)
    .option("--until <time>", "Posts before this time", instantOption)
}
