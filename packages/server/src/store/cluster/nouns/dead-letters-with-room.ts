/**
 * The dead letters that become retries: of those that are asked for, as many as their links have room for.
 *
 * A link may have a million of them, and a million links may have one. So every step is bounded: the links that are
 * locked, the retries whose bytes are summed up, and the dead letters that are looked at.
 */
import type { DeadLetterSelector } from "../../../model/dead-letter.ts"
import type { LinkId, MatchSeq } from "../../../model/ids.ts"
import { retriesPerLinkMax } from "../../bounds.ts"
import { FairRedelivery } from "../../ledger/fair-redelivery.ts"
import type { RetryRoom } from "../../ledger/retry-room.ts"
import type { SqlValue, WriteTransaction } from "../connection/database.ts"
import { lockLinks, type LockedLink } from "../connection/locks.ts"
import { bytesToSend, retryRooms } from "./link-changes.ts"

/** Most dead letters that are looked at for those that become retries at once, and most links. Ours. */
const scanMax = 50_000
const linksMax = 10_000

/** A dead letter that becomes a retry. */
interface DeadLetterWithRoom {
  readonly linkId: LinkId
  readonly seq: MatchSeq
  /** Most bytes to send for it. */
  readonly bytes: number
}

/** A link with selected dead letters. */
interface Candidate {
  readonly id: LinkId
  readonly retries: number
  readonly deadLetters: number
  /** Most bytes to send for the oldest of the selected; 0 when that is not known. */
  readonly oldestBytes: number
}

/** A candidate with room for at least one. */
interface LinkWithRoom extends Candidate {
  readonly room: RetryRoom
}

/** Locks links, and returns the dead letters of theirs that become retries: the oldest of each link first. */
export async function lockDeadLettersWithRoom(
  transaction: WriteTransaction,
  selector: DeadLetterSelector,
): Promise<{
  readonly links: ReadonlyMap<LinkId, LockedLink>
  readonly dead: readonly DeadLetterWithRoom[]
}> {
  const fair = new FairRedelivery()
  const candidates = (await findCandidates(transaction, selector)).filter(({ retries }) => fair.begin(retries))
  const links = await lockLinks(
    transaction,
    candidates.map(({ id }) => id),
  )
  const rooms = await retryRooms(transaction, [...links.values()])
  // A link without room is not looked at any further, so that it keeps no other from its turn.
  let roomy: readonly LinkWithRoom[] = candidates.flatMap((candidate) => {
    const room = rooms.get(candidate.id)
    return room?.has(candidate.oldestBytes) === true ? [{ ...candidate, room }] : []
  })
  const taken: DeadLetterWithRoom[] = []
  for (let lookedAt = 0; roomy.length > 0 && fair.left > 0 && lookedAt < scanMax;) {
    const next = firstWith(roomy, fair.left)
    roomy = roomy.slice(next.length)
    const dead = await oldestSelected(transaction, selector, next)
    lookedAt += dead.length
    taken.push(...dead.filter(({ linkId, bytes }) => fair.take(linkId, rooms.get(linkId), bytes)))
  }
  return { links, dead: taken }
}

/** The first links, until they may get so many retries. */
function firstWith(links: readonly LinkWithRoom[], retries: number): readonly LinkWithRoom[] {
  let sum = 0
  const end = links.findIndex((link) => (sum += mostOf(link)) >= retries)
  return end === -1 ? links : links.slice(0, end + 1)
}

/** Most dead letters of a link that may become retries. */
function mostOf({ deadLetters, room }: LinkWithRoom): number {
  return Math.min(deadLetters, room.left)
}

/** The links with selected dead letters that have fewer retries than they may, those with the fewest first. */
function findCandidates(transaction: WriteTransaction, selector: DeadLetterSelector): Promise<readonly Candidate[]> {
  const { sql, values } = selector.kind === "ids" ? candidatesOfIds(selector) : candidatesOfAll(selector)
  return transaction.rows<Candidate>(sql, ...values)
}

interface Statement {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

function candidatesOfIds({ appId, ids }: Extract<DeadLetterSelector, { kind: "ids" }>): Statement {
  return {
    sql: `SELECT links.id, retries, dead_letters AS "deadLetters", 0 AS "oldestBytes" FROM links
      WHERE id IN (SELECT link_id FROM dead_letters WHERE dead_letters.id = ANY ($1::bigint[]))
        AND retries < ${retriesPerLinkMax}
        ${appId === undefined ? "" : "AND app_id = $2"}
      ORDER BY retries, links.id LIMIT ${linksMax}`,
    values: appId === undefined ? [ids] : [ids, appId],
  }
}

function candidatesOfAll({ appId, webhookId, sinceMs }: Extract<DeadLetterSelector, { kind: "all" }>): Statement {
  const values: SqlValue[] = [sinceOf(sinceMs)]
  const conditions = ["dead_letters > 0", `retries < ${retriesPerLinkMax}`]
  // Conditions only for what is given: so each finds its index.
  if (appId !== undefined) conditions.push(`links.app_id = $${values.push(appId)}`)
  if (webhookId !== undefined) conditions.push(`webhook_id = $${values.push(webhookId)}`)
  return {
    sql: `SELECT links.id, retries, dead_letters AS "deadLetters", oldest.bytes AS "oldestBytes"
      FROM links CROSS JOIN LATERAL (
        SELECT ${bytesToSend("dead_letters")} AS bytes FROM dead_letters
        WHERE link_id = links.id AND dead_lettered_at_ms >= $1 ORDER BY dead_lettered_at_ms, dead_letters.id LIMIT 1) AS oldest
      WHERE ${conditions.join(" AND ")} ORDER BY retries, links.id LIMIT ${linksMax}`,
    values,
  }
}

function sinceOf(sinceMs: number | undefined): number {
  return sinceMs ?? Number.MIN_SAFE_INTEGER
}

/** The selected dead letters of links, in the order of the links: of each the oldest, as many as it may get retries. */
async function oldestSelected(
  transaction: WriteTransaction,
  selector: DeadLetterSelector,
  links: readonly LinkWithRoom[],
): Promise<readonly DeadLetterWithRoom[]> {
  const of =
    selector.kind === "ids"
      ? { condition: "dead_letters.id = ANY ($1::bigint[])", value: selector.ids }
      : { condition: "dead_lettered_at_ms >= $1", value: sinceOf(selector.sinceMs) }
  return transaction.rows<DeadLetterWithRoom>(
    `SELECT wanted.link_id AS "linkId", dead.seq, dead.bytes
     FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS wanted (link_id, most, place)
       CROSS JOIN LATERAL (
         SELECT dead_letters.id, seq, dead_lettered_at_ms, ${bytesToSend("dead_letters")} AS bytes FROM dead_letters
         WHERE link_id = wanted.link_id AND ${of.condition} ORDER BY dead_lettered_at_ms, dead_letters.id
         LIMIT wanted.most) AS dead
     ORDER BY place, dead_lettered_at_ms, dead.id`,
    of.value,
    links.map(({ id }) => id),
    links.map(mostOf),
  )
}
