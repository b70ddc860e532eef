/** A fault that is put into the program on purpose, to see that some test finds it. */
export interface Mutant {
  /** What is wrong with the program then. */
  readonly name: string
  /** From the root of the repository. */
  readonly file: string
  readonly changes: readonly Change[]
  /** Test files that are run, any of which may find it. From the root of the repository. */
  readonly tests: readonly string[]
}

/** A text of the file, which stands there exactly once, and what takes its place. */
interface Change {
  readonly from: string
  readonly to: string
}

/** Applies the changes one after the other. Throws when a text is not there exactly once: then the list is stale. */
export function mutate(source: string, { name, file, changes }: Mutant): string {
  let mutated = source
  for (const { from, to } of changes) {
    const parts = mutated.split(from)
    if (parts.length !== 2) {
      throw new Error(`"${name}": ${file} has this ${parts.length - 1} times instead of once:\n${from}`)
    }
    mutated = parts.join(to)
  }
  return mutated
}
