/** The state of the store itself: a part of the store (`store.ts`). */
import type { KnownTime } from "../../model/known-time.ts"
import type { NewEpoch } from "../epochs.ts"

/** Reads: what a store knows of itself. */
export interface StateReads {
  /**
   * Descriptions of damaged apps, tokens, rules, webhooks, links and replays that reads of this store have found and
   * that still exist. At most 1,000. Lists leave damaged records out; the read of a single app, token, webhook or link
   * throws `RecordDamaged`.
   */
  damagedRecords(): Promise<readonly string[]>
  /** The largest id of any app, rule, webhook, link or replay, deleted ones included; `0` before the first. */
  lastId(): Promise<string>
  /** A number that differs after each control change of any process. Cheap to read often. */
  controlVersion(): Promise<number>
  /** The time that was saved last; `undefined` before the first save, `noKnownTime` when it is damaged. */
  knownTime(): Promise<KnownTime | undefined>
}

/** Writes: what a store knows of itself. */
export interface StateWrites {
  /** Replaces what is known of the time. */
  saveKnownTime(time: KnownTime): Promise<void>
  /**
   * Begins an epoch: matches that are appended from then on, attempts, dead letters and what else gets an id, have none
   * that another copy of this store gives out. A store that several processes share throws `StoreFailed` while one of them
   * serves it.
   */
  beginEpoch(next: NewEpoch): Promise<void>
}
