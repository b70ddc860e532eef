/** Sources of posts: where they stand, and what waits for an operator. */
import type { ListedSource } from "../../config.ts"
import type { StoredSource } from "../../model/source.ts"
import { counted, good, warning, type Finding } from "../finding.ts"
import { duration } from "./quantities.ts"

/** The sources of a store, and those of the settings. */
export interface SourcesSeen {
  readonly stored: readonly StoredSource[]
  /** Dead letters by the names of sources. */
  readonly deadLetters: ReadonlyMap<string, number>
  /** Empty when the examination has no configuration file. */
  readonly listed: readonly Pick<ListedSource, "name">[]
  readonly nowMs: number
}

/** The findings about sources; none without sources. */
export function sourceFindings({ stored, deadLetters, listed, nowMs }: SourcesSeen): readonly Finding[] {
  const names = new Set(listed.map(({ name }) => name))
  const positioned = stored.filter(({ position }) => position !== undefined)
  const findings: Finding[] = []
  if (positioned.length > 0) {
    const ages = positioned.map(({ name, savedAtMs }) => `${name}${ageText(savedAtMs, nowMs)}`)
    findings.push(good("sources", `${counted(positioned.length, "source")} with a position: ${ages.join(", ")}.`))
  }
  for (const { name, isPaused } of stored) {
    if (isPaused) findings.push(warning("sources", `The source ${name} is paused.`, `sluice sources resume ${name}`))
    if (names.size > 0 && !names.has(name)) {
      const renamed = "If it was renamed: the new name has a position of its own, and begins anew."
      findings.push(
        warning("sources", `The source ${name} has run, and the configuration no longer lists it.`, renamed),
      )
    }
  }
  for (const [name, count] of deadLetters) {
    const text = `The source ${name} has ${counted(count, "dead letter")}: records that could not become posts.`
    findings.push(warning("sources", text, `sluice sources dead-letters ${name}`))
  }
  return findings
}

/** How long ago the position was saved; empty for one that was set by a rewind before the first record. */
function ageText(savedAtMs: number | undefined, nowMs: number): string {
  return savedAtMs === undefined ? "" : ` (saved ${duration(Math.max(0, nowMs - savedAtMs))} ago)`
}
