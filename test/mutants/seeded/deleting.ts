/** Seeded faults of deletion: what is deleted comes back, or is left somewhere. */
import type { Mutant } from "../mutant.ts"
import { mutant, server } from "./one-change.ts"

const contract = `${server}/store/memory/memory-store.test.ts`
const erasures = `${server}/store/embedded/nouns/erasures.test.ts`
const compatibility = "test/compatibility/deletion.test.ts"

export const deletions: readonly Mutant[] = [
  mutant(
    "a repost of a deleted post is stored",
    `${server}/store/ledger/deletions.ts#withoutDeleted`,
    "if (repostedId !== undefined && deleted.posts.has(repostedId)) return undefined",
    "",
    contract,
  ),
  mutant(
    "a later version of a deleted post is stored",
    `${server}/store/ledger/deletions.ts#withoutDeleted`,
    "|| chain.some((version) => deleted.posts.has(version))",
    "",
    contract,
  ),
  mutant(
    "a post of a deleted user that comes with another's is stored",
    `${server}/model/deleted-content.ts#withoutDeletedContent`,
    "isPostDeleted(id) || (author !== undefined && isUserDeleted(author))",
    "isPostDeleted(id)",
    contract,
  ),
  mutant(
    "a later post of a deleted user is stored",
    `${server}/store/ledger/deletions.ts#withoutDeleted`,
    "if (authorId !== undefined && deleted.users.has(authorId)) return undefined",
    "",
    contract,
  ),
  mutant(
    "the response to an attempt that began just after a rewriting is kept",
    `${server}/store/ledger/deletions.ts#maySendOld`,
    "attempt.atMs <= rewrittenAtMs + rewrittenMsMax",
    "attempt.atMs <= rewrittenAtMs",
    contract,
  ),
  mutant(
    "a match that waited for its turn is sent as it was read",
    `${server}/delivery/links/run/webhook-link.ts#WebhookLink`,
    "return tries > 0 || this.#deps.clock.monotonicMs() - readAtMs >= readAgainMs",
    "return tries > 0",
    `${server}/delivery/links/run/delivery-bounds.test.ts`,
  ),
  mutant(
    "a replay sends a match that waited for its turn as it was read",
    `${server}/delivery/replays/replay-job.ts#ReplayJob`,
    "tries > 0 || clock.monotonicMs() - readAtMs >= readAgainMs",
    "tries > 0",
    `${server}/delivery/replays/replays.test.ts`,
  ),
  mutant(
    "the rows next to a deleted one are not written again",
    `${server}/store/embedded/nouns/erasures.ts`,
    "const neighbours = 16",
    "const neighbours = 0",
    erasures,
  ),
  mutant(
    "deleted rows are not overwritten",
    `${server}/store/embedded/connection/database.ts`,
    "PRAGMA secure_delete = ON",
    "PRAGMA secure_delete = OFF",
    erasures,
  ),
  mutant(
    "a notice with a number that no id begins with is obeyed",
    `${server}/ingest/read-deletion.ts#idOf`,
    "isId(one) && !/^0\\d/.test(one)",
    "isId(one)",
    `${server}/http/routes/deletions.test.ts`,
  ),
  mutant(
    "a deleted post is found where another still shows it",
    `${server}/queries/posts-by-id.ts#carriersOf`,
    "const others = ids.filter((id) => deleted?.has(id) !== true)",
    "const others = deleted === undefined ? [] : ids",
    `${server}/queries/posts-by-id.test.ts`,
  ),
  mutant(
    "anybody deletes anybody's post",
    `${server}/control/deletions.ts#createDeletions`,
    "if (authorOf(post.json) !== userId)",
    "if (authorOf(post.json) === undefined)",
    compatibility,
  ),
  mutant(
    "a deletion waits for the pauses of an erasure",
    `${server}/control/deletions.ts#Upkeep.#step`,
    "return this.#mayBePending ? pauseMs : Math.min(waitMs, pollMs)",
    "return Math.min(waitMs, pollMs)",
    `${server}/control/deletions.test.ts`,
  ),
  mutant(
    "the chains of deleted posts are kept",
    `${server}/store/embedded/nouns/deletions.ts#prepareStep`,
    "forgetChains(deleted)",
    "",
    `${server}/store/embedded/serving/embedded-store.test.ts`,
  ),
  mutant(
    "the search index keeps the terms of deleted posts",
    `${server}/search/deleted-posts.ts#DeletedPosts`,
    "await index.remove(ids)",
    "",
    compatibility,
  ),
  mutant(
    "the audit does not see a deleted post that is there",
    `${server}/store/rows/audit-faults.ts`,
    "WHERE kind = 'post' AND NOT is_pending AND EXISTS",
    "WHERE kind = 'user' AND NOT is_pending AND EXISTS",
    `${server}/store/embedded/damage.test.ts`,
  ),
]
