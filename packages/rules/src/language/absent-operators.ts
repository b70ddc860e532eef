/** The operators of a text that X has in the other mode only, for people who write rules and queries. */

import { fold } from "../text/fold.ts"
import type { Mode } from "../text/mode.ts"
import { absentNames, proximityModesOfX } from "./operator-guide.ts"
import { aliases } from "./operator-names.ts"
import { tokensOf } from "./rule-tokens.ts"

/**
 * The operators that X does not have in the mode, in the order of the text, as they are written there and each once:
 * `bio:`, or `~3` for words near each other. The strict dialect rejects them. Never throws, also for an invalid text.
 */
export function absentOperators(text: string, mode: Mode): readonly string[] {
  const found = tokensOf(text).flatMap(({ kind, start, end }) => {
    const written = text.slice(start, end)
    if (kind === "proximity") return proximityModesOfX.includes(mode) ? [] : [written]
    if (kind !== "operator") return []
    const [name = ""] = written.split(":")
    const folded = fold(name)
    const known = Object.hasOwn(aliases, folded) ? (aliases[folded] ?? folded) : folded
    return absentNames[mode].has(known) ? [`${name}:`] : []
  })
  return [...new Set(found)]
}
