/**
 * The progress of links: their cursors and retries.
 *
 * A match that a cursor has passed is in exactly one state: delivered, a retry, a dead letter, expired, or within a gap
 * marker. Every write of deliveries and of retention preserves that.
 *
 * A save has the same few statements for one link and for a thousand. It locks the links, reads which of the matches it
 * names are retries and dead letters, works out what changes, and writes that. When all went well it names none, and is
 * one statement: what is in flight waits for it.
 */
import type { DeadMatch } from "../../../model/dead-letter.ts"
import type { AppId, LinkId, MatchSeq } from "../../../model/ids.ts"
import type { LinkProgress, Retry, RetryEntry } from "../../../model/link.ts"
import type { PostShape } from "../../../model/post.ts"
import type { LinkLease } from "../../leases.ts"
import type { StoreReads, StoreWrites } from "../../store.ts"
import { columnsAs, type ClusterDatabase, type Queries, type WriteTransaction } from "../connection/database.ts"
import { deleteSpared } from "./spared-matches.ts"
import { lockLinks, lockLogs, type LockedLink, type LockedLog } from "../connection/locks.ts"
import { entryOf, matchColumns, type MatchRow } from "./match-entries.ts"

interface RetryRow extends MatchRow, Retry {
  readonly seq: MatchSeq
}

/** Most retries that one statement reads, with their posts. Ours. */
const retriesPerRead = 500

/** The reads of retries. */
export function createRetryReads(queries: Queries): Pick<StoreReads, "retries"> {
  // A subquery for each retry: so PostgreSQL looks up its match, and never reads the log for it, whatever it estimates.
  const select = (shape: PostShape): string =>
    `SELECT ${columnsAs("retries", "seq, failures, due_at_ms")}, entry.*
     FROM retries LEFT JOIN LATERAL (
       SELECT ${matchColumns(shape)} FROM matches LEFT JOIN posts ON posts.id = post_id
       WHERE matches.app_id = retries.app_id AND matches.seq = retries.seq LIMIT 1) AS entry ON true
     WHERE link_id = $1 AND retries.seq > $2 ORDER BY retries.seq LIMIT $3`
  const selects = { core: select("core"), envelope: select("envelope") }
  return {
    async retries(linkId, shape) {
      const found: RetryEntry[] = []
      for (;;) {
        const rows = await queries.rows<RetryRow>(selects[shape], linkId, found.at(-1)?.seq ?? 0, retriesPerRead)
        for (const row of rows) {
          found.push({ seq: row.seq, failures: row.failures, dueAtMs: row.dueAtMs, entry: entryOf(row) })
        }
        if (rows.length < retriesPerRead) return found
      }
    },
  }
}

/** The writes of progress. */
export function createProgressWrites(database: ClusterDatabase): Pick<StoreWrites, "saveProgress"> {
  return {
    async saveProgress(all) {
      if (isDeliveredOnly(all)) return saveDelivered(database, all)
      return database.write(async (transaction) => {
        const settling = all.filter(({ settled }) => settled.length > 0).map(({ linkId }) => linkId)
        const logs = settling.length === 0 ? new Map<AppId, LockedLog>() : await lockLogs(transaction, settling)
        const links = await lockLinks(
          transaction,
          all.map(({ linkId }) => linkId),
        )
        const found = all.filter(({ linkId }) => links.has(linkId))
        const [saved, lost] = partition(found, ({ linkId, lease }) => isCurrent(lease, links.get(linkId)))
        if (saved.length > 0) {
          const changes = changesOf(links, await owedOf(transaction, saved))
          for (const progress of saved) changes.get(progress.linkId)?.add(progress)
          await writeChanges(transaction, [...changes.values()], logs)
        }
        return leasesOf(lost)
      })
    },
  }
}

/** Whether the progress is nothing but deliveries that succeeded, and of each link once. */
function isDeliveredOnly(all: readonly LinkProgress[]): boolean {
  const isPlain = all.every(
    ({ retries, dead, settled }) => retries.length === 0 && dead.length === 0 && settled.length === 0,
  )
  return isPlain && new Set(all.map(({ linkId }) => linkId)).size === all.length
}

/** The leases of progress that has one. */
function leasesOf(all: readonly LinkProgress[]): readonly LinkLease[] {
  return all.flatMap(({ linkId, lease }) => (lease === undefined ? [] : [{ linkId, lease }]))
}

/** Moves cursors. Returns the leases that are no longer current. What counts as delivered is as in `LinkChange`. */
async function saveDelivered(queries: Queries, all: readonly LinkProgress[]): Promise<readonly LinkLease[]> {
  const rows = await queries.rows<{ linkId: LinkId; isSaved: boolean }>(
    `WITH change AS (
       SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
         AS change (id, position, delivered, lease)),
     locked AS MATERIALIZED (SELECT id FROM links WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE),
     saved AS (
       UPDATE links SET position = greatest(links.position, change.position),
         delivered = links.delivered + greatest(least(change.delivered, change.position - links.position), 0)
       FROM locked JOIN change ON change.id = locked.id
       WHERE links.id = locked.id AND (change.lease IS NULL OR links.lease = change.lease)
       RETURNING links.id)
     SELECT locked.id AS "linkId", saved.id IS NOT NULL AS "isSaved" FROM locked LEFT JOIN saved ON saved.id = locked.id`,
    all.map(({ linkId }) => linkId),
    all.map(({ position }) => position),
    all.map(({ delivered }) => delivered),
    all.map(({ lease }) => lease ?? null),
  )
  const lost = new Set(rows.filter(({ isSaved }) => !isSaved).map(({ linkId }) => linkId))
  return lost.size === 0 ? [] : leasesOf(all.filter(({ linkId }) => lost.has(linkId)))
}

/** Progress without a lease is that of a tool, which has the store for itself. */
function isCurrent(lease: number | undefined, link: LockedLink | undefined): boolean {
  return lease === undefined || link?.lease === lease
}

function partition<Item>(items: readonly Item[], isFirst: (item: Item) => boolean): readonly [Item[], Item[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))]
}

/** A match that is a retry or a dead letter of a link. */
interface OutstandingRow {
  readonly linkId: LinkId
  readonly seq: MatchSeq
  readonly isDead: boolean
}

/** Which of the matches that progress names are retries and dead letters now. */
async function owedOf(transaction: WriteTransaction, all: readonly LinkProgress[]): Promise<readonly OutstandingRow[]> {
  const named = all.flatMap(({ linkId, retries, dead, settled }) =>
    [...retries.map(({ seq }) => seq), ...dead.map(({ seq }) => seq), ...settled].map((seq) => ({ linkId, seq })),
  )
  if (named.length === 0) return []
  const of = (table: "retries" | "dead_letters", isDead: boolean): string =>
    `SELECT ${columnsAs(table, "link_id, seq")}, ${isDead} AS "isDead" FROM ${table}
     WHERE (link_id, seq) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))`
  return transaction.rows<OutstandingRow>(
    `${of("retries", false)} UNION ALL ${of("dead_letters", true)}`,
    named.map(({ linkId }) => linkId),
    named.map(({ seq }) => seq),
  )
}

function changesOf(
  links: ReadonlyMap<LinkId, LockedLink>,
  owed: readonly OutstandingRow[],
): ReadonlyMap<LinkId, LinkChange> {
  const owedByLink = Map.groupBy(owed, ({ linkId }) => linkId)
  return new Map(Array.from(links, ([id, link]) => [id, new LinkChange(link, owedByLink.get(id) ?? [])]))
}

/** What progress changes of one link. */
class LinkChange {
  readonly link: LockedLink
  position: MatchSeq
  delivered = 0
  /** By how many there are more. */
  retriesBy = 0
  deadLettersBy = 0
  /** Retries that are new or not as they were. */
  readonly retries = new Map<MatchSeq, Retry>()
  /** Matches that are no longer retries. */
  readonly retriesGone = new Set<MatchSeq>()
  /** Of those, the ones that are delivered. */
  readonly settled = new Set<MatchSeq>()
  readonly dead = new Map<MatchSeq, DeadMatch>()
  /** Of the matches that the progress names. */
  readonly #areRetries: Set<MatchSeq>
  readonly #areDead: Set<MatchSeq>

  constructor(link: LockedLink, owed: readonly OutstandingRow[]) {
    this.link = link
    this.position = link.position
    this.#areRetries = new Set(owed.filter(({ isDead }) => !isDead).map(({ seq }) => seq))
    this.#areDead = new Set(owed.filter(({ isDead }) => isDead).map(({ seq }) => seq))
  }

  add({ position, retries, dead, settled, delivered }: LinkProgress): void {
    const [retriesBefore, deadBefore] = [this.#areRetries.size, this.#areDead.size]
    for (const retry of retries) this.#saveRetry(retry)
    // Before the settled ones go: the new dead letters are among them.
    for (const match of dead) this.#giveUp(match)
    for (const seq of settled) if (this.#endRetry(seq)) this.settled.add(seq)
    const retriesBy = this.#areRetries.size - retriesBefore
    const deadLettersBy = this.#areDead.size - deadBefore
    // A match that retention took on its way is counted as missed, whether it arrives after all or not. Progress that
    // is saved twice is counted once.
    const passed = Math.max(position - this.position, 0)
    this.delivered += Math.max(Math.min(delivered, passed - retriesBy - deadLettersBy), 0)
    this.retriesBy += retriesBy
    this.deadLettersBy += deadLettersBy
    if (position > this.position) this.position = position
  }

  /**
   * Of a match that the cursor has passed a retry cannot be new: the match is delivered, or retention has taken it and
   * counts it as missed.
   */
  #saveRetry(retry: Retry): void {
    const { seq } = retry
    if (seq <= this.position && !this.#areRetries.has(seq)) return
    this.#areRetries.add(seq)
    this.retries.set(seq, retry)
  }

  #giveUp(match: DeadMatch): void {
    const { seq } = match
    const wasRetry = this.#endRetry(seq)
    if (seq <= this.position && !wasRetry && !this.#areDead.has(seq)) return
    this.#areDead.add(seq)
    this.dead.set(seq, match)
  }

  /** False when the match is no retry. */
  #endRetry(seq: MatchSeq): boolean {
    if (!this.#areRetries.delete(seq)) return false
    this.retries.delete(seq)
    this.retriesGone.add(seq)
    return true
  }
}

async function writeChanges(
  transaction: WriteTransaction,
  changes: readonly LinkChange[],
  logs: ReadonlyMap<AppId, LockedLog>,
): Promise<void> {
  await deleteRetries(
    transaction,
    changes.flatMap(({ link, retriesGone }) => Array.from(retriesGone, (seq) => ({ link, seq }))),
  )
  await upsertRetries(
    transaction,
    changes.flatMap(({ link, retries }) => Array.from(retries.values(), (retry) => ({ link, retry }))),
  )
  await upsertDeadLetters(
    transaction,
    changes.flatMap(({ link, dead }) => Array.from(dead.values(), (match) => ({ link, match }))),
  )
  await updateLinks(transaction, changes)
  for (const [appId, ofApp] of Map.groupBy(changes, ({ link }) => link.appId)) {
    const trimmedTo = logs.get(appId)?.trimmedTo ?? 0
    const freed = ofApp.flatMap(({ settled }) => [...settled]).filter((seq) => seq <= trimmedTo)
    await deleteSpared(transaction, appId, freed)
  }
}

async function updateLinks(transaction: WriteTransaction, changes: readonly LinkChange[]): Promise<void> {
  await transaction.run(
    `UPDATE links SET position = greatest(links.position, change.position),
       delivered = links.delivered + change.delivered, retries = links.retries + change.retries,
       dead_letters = links.dead_letters + change.dead_letters
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
       AS change (id, position, delivered, retries, dead_letters)
     WHERE links.id = change.id`,
    changes.map(({ link }) => link.id),
    changes.map(({ position }) => position),
    changes.map(({ delivered }) => delivered),
    changes.map(({ retriesBy }) => retriesBy),
    changes.map(({ deadLettersBy }) => deadLettersBy),
  )
}

async function deleteRetries(
  transaction: WriteTransaction,
  retries: readonly { readonly link: LockedLink; readonly seq: MatchSeq }[],
): Promise<void> {
  if (retries.length === 0) return
  await transaction.run(
    "DELETE FROM retries WHERE (link_id, seq) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))",
    retries.map(({ link }) => link.id),
    retries.map(({ seq }) => seq),
  )
}

async function upsertRetries(
  transaction: WriteTransaction,
  retries: readonly { readonly link: LockedLink; readonly retry: Retry }[],
): Promise<void> {
  if (retries.length === 0) return
  await transaction.run(
    `INSERT INTO retries (link_id, app_id, seq, failures, due_at_ms)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::bigint[])
     ON CONFLICT (link_id, seq) DO UPDATE SET failures = excluded.failures, due_at_ms = excluded.due_at_ms`,
    retries.map(({ link }) => link.id),
    retries.map(({ link }) => link.appId),
    retries.map(({ retry }) => retry.seq),
    retries.map(({ retry }) => retry.failures),
    retries.map(({ retry }) => retry.dueAtMs),
  )
}

/** A match that dies again takes the id of a new dead letter: ids are in the order in which they died. */
async function upsertDeadLetters(
  transaction: WriteTransaction,
  dead: readonly { readonly link: LockedLink; readonly match: DeadMatch }[],
): Promise<void> {
  if (dead.length === 0) return
  await transaction.run(
    `INSERT INTO dead_letters (link_id, app_id, seq, failures, outcome, status, error, dead_lettered_at_ms)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::text[], $6::integer[],
       $7::text[], $8::bigint[])
     ON CONFLICT (link_id, seq) DO UPDATE SET id = DEFAULT, failures = excluded.failures,
       outcome = excluded.outcome, status = excluded.status, error = excluded.error,
       dead_lettered_at_ms = excluded.dead_lettered_at_ms`,
    dead.map(({ link }) => link.id),
    dead.map(({ link }) => link.appId),
    dead.map(({ match }) => match.seq),
    dead.map(({ match }) => match.failures),
    dead.map(({ match }) => match.outcome),
    dead.map(({ match }) => match.status ?? null),
    dead.map(({ match }) => match.error ?? null),
    dead.map(({ match }) => match.deadLetteredAtMs),
  )
}
