/** The form in which the seeded faults are listed. */
import type { Mutant } from "../mutant.ts"

export const server = "packages/server/src"
export const rules = "packages/rules/src"

/** One change of one place: a file, and after a `#` the declaration in it. */
export function mutant(name: string, place: string, from: string, to: string, ...tests: readonly string[]): Mutant {
  const [file = "", within] = place.split(/#(.*)/s)
  return { name, file, changes: [{ within, from, to }], tests }
}
