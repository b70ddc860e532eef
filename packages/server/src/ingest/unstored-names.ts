/**
 * Ids that were assigned to names and that a look-up may not find yet, because their batch is not stored.
 *
 *     assigned ─► in a batch ─► stored ─► forgotten before the next look-up, which finds them in the store
 *
 * Without them, each record of a name in one batch would get another id, and a deletion would miss the post before it. They
 * are names of the batch in progress and of the next one, so the bounds of a batch are theirs.
 */
import type { PostId } from "../model/ids.ts"
import type { AssignedName } from "../model/source.ts"

/** The names of one source whose ids are not in the store yet. */
export class UnstoredNames {
  readonly #ids = new Map<string, PostId>()
  /** Names whose batch is stored since the last look-up began. */
  readonly #stored = new Set<string>()

  idOf(name: string): PostId | undefined {
    return this.#ids.get(name)
  }

  assign({ name, id }: AssignedName): void {
    this.#ids.set(name, id)
  }

  /** These are stored, perhaps with other ids than they were assigned at first. */
  noteStored(assigned: readonly AssignedName[]): void {
    for (const { name, id } of assigned) {
      this.#ids.set(name, id)
      this.#stored.add(name)
    }
  }

  /** Forgets what is stored: a look-up that begins afterwards finds it. */
  forgetStored(): void {
    for (const name of this.#stored) this.#ids.delete(name)
    this.#stored.clear()
  }
}
