/**
 * Matches that are to be sent again, wherever they are: retries at once, dead letters and delivered ones as retries.
 *
 * A match that the cursor has passed and the log still has is a retry, a dead letter or delivered: gap markers and expired
 * dead letters are of what retention has passed. So what is neither a retry nor a dead letter was delivered.
 */
import type { AppId, LinkId, MatchSeq } from "../../../model/ids.ts"
import type { LinkMatch, RedeliveryOutcome } from "../../../model/redelivery.ts"
import type { StoreWrites } from "../../store.ts"
import type { ClusterDatabase, WriteTransaction } from "../connection/database.ts"
import { epochOf } from "./log-epochs.ts"
import { lockLinks, lockLogs, type LockedLink, type LockedLog } from "../connection/locks.ts"
import { bytesToSend, retryRooms, type RetryRoom } from "./retry-room.ts"

type RedeliveryWrites = Pick<StoreWrites, "redeliverMatches" | "hastenRetries">

/** The writes by which matches are sent again. */
export function createRedeliveryWrites(database: ClusterDatabase): RedeliveryWrites {
  return {
    redeliverMatches: (matches, appId) =>
      database.write(async (transaction) => {
        const redeliveries = await lockForRedelivery(transaction, matches, appId)
        const outcomes = matches.map((match) => redeliveries.get(match.linkId)?.add(match) ?? "unknown")
        if (outcomes.includes("redelivered")) {
          await writeRedeliveries(transaction, [...redeliveries.values()])
          await transaction.announceControl()
        }
        return outcomes
      }),

    hastenRetries: (webhookId, appId) =>
      database.write(async (transaction) => {
        const link = await transaction.row<{ id: LinkId; appId: AppId }>(
          `SELECT id, app_id AS "appId" FROM links WHERE webhook_id = $1 FOR UPDATE`,
          webhookId,
        )
        if (link === undefined || (appId !== undefined && link.appId !== appId)) return 0
        const hastened = await transaction.run(
          "UPDATE retries SET due_at_ms = 0 WHERE link_id = $1 AND due_at_ms > 0",
          link.id,
        )
        if (hastened === 0) return 0
        await transaction.run("UPDATE links SET redeliveries = redeliveries + 1 WHERE id = $1", link.id)
        await transaction.announceControl()
        return hastened
      }),
  }
}

/** A match of a link that may be sent again, as it is before that. */
interface MatchRow {
  readonly linkId: LinkId
  readonly seq: MatchSeq
  /** NULL in the first epoch of the log. */
  readonly epoch: string | null
  readonly isRetry: boolean
  readonly isDead: boolean
  /** Most bytes to send for it. */
  readonly bytes: number
}

/** What is sent again of one link. */
class LinkRedelivery {
  readonly link: LockedLink
  /** Retries that become due at once. */
  readonly hastened = new Set<MatchSeq>()
  /** Dead letters that become retries. */
  readonly revived = new Set<MatchSeq>()
  /** Delivered matches that become retries. */
  readonly repeated = new Set<MatchSeq>()
  readonly #log: LockedLog
  readonly #room: RetryRoom
  readonly #matches: ReadonlyMap<MatchSeq, MatchRow>

  constructor(link: LockedLink, log: LockedLog, room: RetryRoom, matches: readonly MatchRow[]) {
    this.link = link
    this.#log = log
    this.#room = room
    this.#matches = new Map(matches.map((match) => [match.seq, match]))
  }

  /** Sends a match again, if that is possible. */
  add({ seq, epoch }: LinkMatch): RedeliveryOutcome {
    const { firstPosition, position, delivered } = this.link
    if (seq <= firstPosition || seq > this.#log.head) return "unknown"
    if (epoch !== (this.#matches.get(seq)?.epoch ?? undefined)) return "unknown"
    if (seq > position) return "waiting"
    if (this.revived.has(seq) || this.repeated.has(seq)) return "redelivered"
    const match = this.#matches.get(seq)
    if (match?.isRetry === true) {
      this.hastened.add(seq)
      return "redelivered"
    }
    const isDead = match?.isDead === true
    if (!isDead && (seq <= this.#log.trimmedTo || delivered === this.repeated.size)) return "gone"
    if (!this.#room.take(match?.bytes ?? 0)) return "no-room"
    if (isDead) this.revived.add(seq)
    else this.repeated.add(seq)
    return "redelivered"
  }

  get hasChanged(): boolean {
    return this.hastened.size + this.revived.size + this.repeated.size > 0
  }
}

/** Locks links, only the app's own when it is given, and their logs. Links without matches are absent. */
async function lockForRedelivery(
  transaction: WriteTransaction,
  matches: readonly LinkMatch[],
  appId: AppId | undefined,
): Promise<ReadonlyMap<LinkId, LinkRedelivery>> {
  const linkIds = [...new Set(matches.map(({ linkId }) => linkId))]
  const logs = await lockLogs(transaction, linkIds)
  const links = [...(await lockLinks(transaction, linkIds)).values()].filter(
    (link) => appId === undefined || link.appId === appId,
  )
  const rooms = await retryRooms(transaction, links)
  const rows = Map.groupBy(await matchesOf(transaction, links, matches), ({ linkId }) => linkId)
  return new Map(
    links.flatMap((link) => {
      const [log, room] = [logs.get(link.appId), rooms.get(link.id)]
      if (log === undefined || room === undefined) return []
      return [[link.id, new LinkRedelivery(link, log, room, rows.get(link.id) ?? [])]]
    }),
  )
}

/** The matches of these links. */
async function matchesOf(
  transaction: WriteTransaction,
  links: readonly LockedLink[],
  matches: readonly LinkMatch[],
): Promise<readonly MatchRow[]> {
  const byId = new Map(links.map((link) => [link.id, link]))
  const found = matches.flatMap(({ linkId, seq }) => {
    const link = byId.get(linkId)
    return link === undefined ? [] : [{ link, seq }]
  })
  if (found.length === 0) return []
  return transaction.rows<MatchRow>(
    `SELECT given.link_id AS "linkId", given.seq, ${epochOf("given.app_id", "given.seq")},
       EXISTS (SELECT 1 FROM retries WHERE link_id = given.link_id AND seq = given.seq) AS "isRetry",
       EXISTS (SELECT 1 FROM dead_letters WHERE link_id = given.link_id AND seq = given.seq) AS "isDead",
       ${bytesToSend("given")} AS bytes
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS given (link_id, app_id, seq)`,
    found.map(({ link }) => link.id),
    found.map(({ link }) => link.appId),
    found.map(({ seq }) => seq),
  )
}

async function writeRedeliveries(
  transaction: WriteTransaction,
  redeliveries: readonly LinkRedelivery[],
): Promise<void> {
  const changed = redeliveries.filter(({ hasChanged }) => hasChanged)
  const added = changed.flatMap(({ link, hastened, revived, repeated }) =>
    [...hastened, ...revived, ...repeated].map((seq) => ({ link, seq })),
  )
  const dead = changed.flatMap(({ link, revived }) => Array.from(revived, (seq) => ({ link, seq })))
  // A retry that is there already keeps its failures.
  await transaction.run(
    `INSERT INTO retries (link_id, app_id, seq, failures, due_at_ms)
     SELECT link_id, app_id, seq, 0, 0 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS given (link_id, app_id, seq)
     ON CONFLICT (link_id, seq) DO UPDATE SET due_at_ms = 0`,
    added.map(({ link }) => link.id),
    added.map(({ link }) => link.appId),
    added.map(({ seq }) => seq),
  )
  await transaction.run(
    "DELETE FROM dead_letters WHERE (link_id, seq) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))",
    dead.map(({ link }) => link.id),
    dead.map(({ seq }) => seq),
  )
  await transaction.run(
    `UPDATE links SET redeliveries = redeliveries + 1, retries = retries + again.revived + again.repeated,
       delivered = delivered - again.repeated, dead_letters = dead_letters - again.revived
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS again (link_id, revived, repeated)
     WHERE links.id = again.link_id`,
    changed.map(({ link }) => link.id),
    changed.map(({ revived }) => revived.size),
    changed.map(({ repeated }) => repeated.size),
  )
}
