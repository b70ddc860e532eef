/** Seeded faults of sources: what is lost without a word, or stops a source. */
import type { Mutant } from "../mutant.ts"
import { mutant, server } from "./one-change.ts"

const records = `${server}/ingest/accept-records.ts`
const recordTests = `${server}/ingest/accept-records.test.ts`
const sources = `${server}/sources`

export const sourcesOfPosts: readonly Mutant[] = [
  mutant(
    "a late post with an old id ends the reading of what was missed",
    `${sources}/mastodon/held-events.ts#HeldEvents.add`,
    "&& isOfNewStatus(post.id, receivedMs)",
    "",
    `${sources}/mastodon/mastodon-source.test.ts`,
  ),
  mutant(
    "a name of a foreign post is longer than an index of PostgreSQL holds",
    `${records}#isStorable`,
    "Buffer.byteLength(name)",
    "name.length",
    recordTests,
  ),
  mutant(
    "a mapped item names any time",
    `${records}#RecordAcceptor.#takePost`,
    "claimedMs > clock.nowMs() + aheadMsMax",
    "claimedMs > Number.MAX_VALUE",
    recordTests,
  ),
  mutant(
    "the notice of a deleted user is stored",
    `${server}/store/ledger/deletions.ts#withoutDeletedUsers`,
    "notices.filter(({ users: [{ id }] }) => !deleted.has(id))",
    "notices",
    `${server}/store/memory/memory-store.test.ts`,
  ),
  mutant(
    "a stream that replays nothing leaves no gap",
    `${sources}/positioned/missed-time.ts#MissedTime.connected`,
    "fromMs === undefined || isReplayed",
    "fromMs !== undefined || isReplayed",
    `${sources}/positioned/websocket-source.test.ts`,
  ),
  mutant(
    "silence of a host that replays moves the position on",
    `${sources}/bluesky/bluesky-source.ts#Reading.#keepPosition`,
    "!this.#isLive ||",
    "",
    `${sources}/bluesky/bluesky-source.test.ts`,
  ),
  mutant(
    "a repeated dead letter of which nothing was kept is deleted",
    `${sources}/source-control.ts#repeatLetters`,
    "record.length > 0 &&",
    "",
    `${sources}/bluesky/bluesky-source.test.ts`,
  ),
]
