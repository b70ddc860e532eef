/**
 * When tokens were last used: noted in memory as they authenticate requests, and saved together once a minute.
 *
 *     request ─► the token is read, once a second at most ─► note ── every minute, and at the end ─► one write
 *
 * A write for each request would cost more than many requests do. A crash loses the uses of the last minute.
 */
import type { TokenUse } from "../model/app.ts"
import type { Clock } from "../runtime/clock.ts"
import type { AppWrites } from "../store/port/app-store.ts"

/** Time between two saves. Ours. */
const saveMs = 60_000

/** Most uses that wait to be saved: as many as there are tokens in use, and a bound where that is too many. Ours. */
const unsavedMax = 10_000

/** The uses that are not saved yet: at most one for each token. */
export class TokenUses {
  readonly #store: Pick<AppWrites, "noteTokenUses">
  readonly #clock: Clock
  readonly #unsaved = new Map<string, TokenUse>()

  constructor(deps: { readonly store: Pick<AppWrites, "noteTokenUses">; readonly clock: Clock }) {
    this.#store = deps.store
    this.#clock = deps.clock
  }

  /** Notes that the token with this hash was used now. */
  note(hash: Uint8Array): void {
    const key = keyOf(hash)
    if (this.#unsaved.size < unsavedMax || this.#unsaved.has(key)) {
      this.#unsaved.set(key, { hash, lastUsedAtMs: this.#clock.nowMs() })
    }
  }

  /** When the token was last used, Unix ms, if that is not saved yet. */
  unsavedOf(hash: Uint8Array): number | undefined {
    return this.#unsaved.get(keyOf(hash))?.lastUsedAtMs
  }

  /** Saves them once a minute until aborted, and once more then. A failed save is repeated with the next one. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(saveMs, signal)
      await this.#save()
    }
  }

  async #save(): Promise<void> {
    const uses = [...this.#unsaved.values()]
    if (uses.length === 0) return
    try {
      await this.#store.noteTokenUses(uses)
    } catch {
      return
    }
    for (const use of uses) if (this.#unsaved.get(keyOf(use.hash)) === use) this.#unsaved.delete(keyOf(use.hash))
  }
}

function keyOf(hash: Uint8Array): string {
  return Buffer.from(hash).toString("base64url")
}
