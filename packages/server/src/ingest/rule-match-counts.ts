/**
 * How often rules match: counted in memory as posts are stored, and saved together every two seconds.
 *
 *     batch stored ─► note ─► in memory, by rule ── every 2 s ─► one write of at most 10,000 rules
 *
 * A save for each batch would make every batch dearer for numbers that only people look at. A crash loses the counts of
 * the last seconds; the match log has lost nothing, and an orderly stop saves them.
 */
import type { RuleId } from "../model/ids.ts"
import type { PostMatch } from "../model/match.ts"
import type { RuleMatches } from "../model/rule.ts"
import type { Clock } from "../runtime/clock.ts"
import type { RuleWrites } from "../store/port/rule-store.ts"

/** Time between two saves, and most rules of one. Ours: such a write takes some 30 ms of the writer. */
const saveMs = 2_000
const savedMax = 10_000

/** The counts that are not saved yet: at most one for each rule. */
export class RuleMatchCounts {
  readonly #store: Pick<RuleWrites, "countRuleMatches">
  readonly #clock: Clock
  readonly #counts = new Map<RuleId, { matched: number; lastMatchedAtMs: number }>()
  readonly #closed = new AbortController()
  readonly #running: Promise<void>

  constructor(deps: { readonly store: Pick<RuleWrites, "countRuleMatches">; readonly clock: Clock }) {
    this.#store = deps.store
    this.#clock = deps.clock
    this.#running = this.#run()
  }

  /** Counts the matches of a post that was stored at `atMs`. */
  note(matches: readonly PostMatch[], atMs: number): void {
    for (const { rules } of matches) {
      for (const { id } of rules) {
        const count = this.#counts.get(id as RuleId)
        if (count === undefined) this.#counts.set(id as RuleId, { matched: 1, lastMatchedAtMs: atMs })
        else {
          count.matched += 1
          count.lastMatchedAtMs = atMs
        }
      }
    }
  }

  /** Saves what is left, and ends. */
  async close(): Promise<void> {
    this.#closed.abort()
    await this.#running
    while (await this.#save());
  }

  async #run(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      await this.#clock.sleep(saveMs, this.#closed.signal)
      await this.#save()
    }
  }

  /** Saves some. Returns whether there are more; what cannot be saved, as on a full disk, waits for the next time. */
  async #save(): Promise<boolean> {
    const counts = Array.from(this.#counts.entries().take(savedMax))
    if (counts.length === 0) return false
    for (const [id] of counts) this.#counts.delete(id)
    const saved: readonly RuleMatches[] = counts.map(([ruleId, count]) => ({ ruleId, ...count }))
    try {
      await this.#store.countRuleMatches(saved)
      return this.#counts.size > 0
    } catch {
      this.#putBack(saved)
      return false
    }
  }

  #putBack(unsaved: readonly RuleMatches[]): void {
    for (const { ruleId, matched, lastMatchedAtMs } of unsaved) {
      const since = this.#counts.get(ruleId)
      this.#counts.set(ruleId, {
        matched: matched + (since?.matched ?? 0),
        lastMatchedAtMs: since?.lastMatchedAtMs ?? lastMatchedAtMs,
      })
    }
  }
}
