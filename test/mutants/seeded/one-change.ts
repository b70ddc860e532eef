/** The form in which the seeded faults are listed. */
import type { Mutant } from "../mutant.ts"

export const server = "packages/server/src"
export const rules = "packages/rules/src"

/** One change of one file. */
export function mutant(name: string, file: string, from: string, to: string, ...tests: readonly string[]): Mutant {
  return { name, file, changes: [{ from, to }], tests }
}
