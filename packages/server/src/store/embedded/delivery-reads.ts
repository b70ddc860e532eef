/** What the embedded store knows of deliveries: links and where each stands, what they owe, and what became of it. */
import type { AttemptOutcome } from "@sluice/api"
import type { DatabaseSync } from "node:sqlite"
import { setImmediate as nextTurn } from "node:timers/promises"
import type { Attempt } from "../../model/attempt.ts"
import type { DeadLetter } from "../../model/dead-letter.ts"
import type { AppId, DeadLetterId, LinkId, MatchSeq, PostId, ReplayId, WebhookId } from "../../model/ids.ts"
import type { GapMarker, LinkTally, LinkToDeliver } from "../../model/link.ts"
import type { PostShape } from "../../model/post.ts"
import type { Replay } from "../../model/replay.ts"
import type { StoreReads } from "../store.ts"
import { idEnds, readKeyset, type Keyset } from "./keyset.ts"
import { linkOf, previousKeyOf, type LinkRow, type PreviousKeyRow } from "./link-row.ts"
import { entryOf, matchColumns, type MatchRow } from "./match-reads.ts"
import { prepare, type Statement } from "./statements.ts"

interface LinkToDeliverRow extends LinkRow, PreviousKeyRow {
  url: string
  valid: number
  position: MatchSeq
  ordered: number
  redeliveries: number
  consumer_secret: Uint8Array
  signing_key: Uint8Array
}

interface RetryRow extends MatchRow {
  app_id: AppId
  failures: number
  due_at_ms: number
}

/** A row of `tallyOf`. */
export interface TallyRow {
  link_id: LinkId
  app_id: AppId
  webhook_id: WebhookId
  first_position: MatchSeq
  position: MatchSeq
  delivered: number
  retries: number
  dead_letters: number
  expired: number
  missed: number
}

interface AttemptRow {
  seq: MatchSeq
  at_ms: number
  duration_ms: number
  outcome: AttemptOutcome
  status: number | null
  bytes: number
  error: string | null
}

interface DeadLetterRow {
  id: DeadLetterId
  app_id: AppId
  webhook_id: WebhookId
  link_id: LinkId
  seq: MatchSeq
  post_id: PostId | null
  at_ms: number | null
  failures: number
  outcome: AttemptOutcome
  status: number | null
  error: string | null
  died_at_ms: number
}

interface ReplayRow {
  id: ReplayId
  app_id: AppId
  webhook_id: WebhookId
  link_id: LinkId
  from_ms: number
  to_ms: number
  position: MatchSeq
  end_seq: MatchSeq
  delivered: number
  failed: number
  created_at_ms: number
  state: Replay["state"]
  ended_at_ms: number | null
}

/** Links read in one turn: of ten thousand, the event loop must not wait for all. Ours. */
const linksPerTurn = 500

/** Where the matches of links went; a `WHERE` on `links` may follow. The counts are columns, or ways to count. */
export function selectTallies(
  { retries, deadLetters } = { retries: "retries", deadLetters: "dead_letters" },
): string {
  return `
    SELECT CAST (links.id AS TEXT) AS link_id, CAST (app_id AS TEXT) AS app_id,
      CAST (webhook_id AS TEXT) AS webhook_id, first_position, position, delivered, ${retries} AS retries,
      ${deadLetters} AS dead_letters, expired, missed
    FROM links`
}

type DeliveryReads = Pick<
  StoreReads,
  "allLinks" | "linkToDeliver" | "retries" | "gaps" | "linkTally" | "attempts" | "deadLetters" | "replays"
>

/** The reads of deliveries on this connection. */
export function createDeliveryReads(db: DatabaseSync): DeliveryReads {
  const linksWhere = (where: string): Statement<LinkToDeliverRow> =>
    prepare(
      db,
      `SELECT CAST (links.id AS TEXT) AS id, CAST (links.app_id AS TEXT) AS app_id,
         CAST (webhook_id AS TEXT) AS webhook_id, links.created_at_ms, query, url, valid, position, ordered,
         redeliveries, consumer_secret, signing_key, previous_key, previous_until_ms
       FROM links JOIN webhooks ON webhooks.id = webhook_id JOIN apps ON apps.id = links.app_id
       WHERE NOT revoked AND ${where} ORDER BY links.id DESC LIMIT ?`,
    )
  const allLinks = linksWhere("links.id < ?")
  const linksOfApp = linksWhere("links.id < ? AND links.app_id = ?")
  const linkOfWebhook = linksWhere("webhook_id = ?")
  const retriesOf = (shape: PostShape): Statement<RetryRow> =>
    prepare(
      db,
      `SELECT CAST (links.app_id AS TEXT) AS app_id, retries.seq, ${matchColumns(shape)}, failures, due_at_ms
       FROM retries JOIN links ON links.id = link_id
         LEFT JOIN matches ON matches.app_id = links.app_id AND matches.seq = retries.seq
         LEFT JOIN posts ON posts.id = post_id
       WHERE link_id = ? ORDER BY retries.seq`,
    )
  const retries = { core: retriesOf("core"), envelope: retriesOf("envelope") }
  const gaps = prepare<GapMarker>(
    db,
    `SELECT from_seq AS "from", to_seq AS "to", at_ms AS atMs FROM gap_markers WHERE link_id = ? ORDER BY from_seq`,
  )
  const tally = prepare<TallyRow>(db, `${selectTallies()} WHERE links.id = ?`)
  const attempts = prepare<AttemptRow>(
    db,
    `SELECT seq, at_ms, duration_ms, outcome, status, bytes, error
     FROM attempts WHERE link_id = ? ORDER BY number DESC LIMIT ?`,
  )
  // One statement for each way to ask, so that each is a stretch of an index.
  const deadLettersWhere = (where: string): Keyset<DeadLetterRow> => {
    const select = `
      SELECT CAST (dead_letters.id AS TEXT) AS id, CAST (dead_letters.app_id AS TEXT) AS app_id,
        CAST (webhook_id AS TEXT) AS webhook_id, CAST (link_id AS TEXT) AS link_id, dead_letters.seq,
        CAST (post_id AS TEXT) AS post_id, matches.at_ms, failures, outcome, status, error, died_at_ms
      FROM dead_letters JOIN links ON links.id = link_id
        LEFT JOIN matches ON matches.app_id = dead_letters.app_id AND matches.seq = dead_letters.seq
      WHERE ${where} AND dead_letters.id`
    return {
      older: prepare(db, `${select} <= ? ORDER BY dead_letters.id DESC LIMIT ?`),
      newer: prepare(db, `${select} > ? ORDER BY dead_letters.id LIMIT ?`),
    }
  }
  const ofWebhook = "dead_letters.link_id = (SELECT id FROM links WHERE webhook_id = ?)"
  const deadLetters = {
    all: deadLettersWhere("true"),
    ofApp: deadLettersWhere("dead_letters.app_id = ?"),
    ofWebhook: deadLettersWhere(ofWebhook),
    ofWebhookOfApp: deadLettersWhere(`${ofWebhook} AND +dead_letters.app_id = ?`),
  }
  const replaysIn = (rows: string): Statement<ReplayRow> =>
    prepare(
      db,
      `SELECT CAST (id AS TEXT) AS id, CAST (app_id AS TEXT) AS app_id, CAST (webhook_id AS TEXT) AS webhook_id,
         CAST (link_id AS TEXT) AS link_id, from_ms, to_ms, position, end_seq, delivered, failed, created_at_ms,
         state, ended_at_ms
       FROM replays ${rows} ORDER BY replays.id DESC`,
    )
  const allReplays = replaysIn("")
  const replaysOfApp = replaysIn("WHERE app_id = ?")
  // Named, since SQLite would rather read all of them in the order that is asked for.
  const runningReplays = replaysIn("INDEXED BY replays_running WHERE state = 'running'")

  return {
    async allLinks(appId) {
      const found: LinkToDeliver[] = []
      let before = idEnds.above
      for (;;) {
        const rows =
          appId === undefined
            ? allLinks.all(before, linksPerTurn)
            : linksOfApp.all(before, BigInt(appId), linksPerTurn)
        found.push(...rows.map(linkToDeliverOf))
        const last = rows.at(-1)
        if (last === undefined || rows.length < linksPerTurn) return found
        before = BigInt(last.id)
        await nextTurn()
      }
    },

    async linkToDeliver(webhookId) {
      const row = linkOfWebhook.get(BigInt(webhookId), 1)
      return row && linkToDeliverOf(row)
    },

    async retries(linkId, shape) {
      return retries[shape].all(BigInt(linkId)).map((row) => ({
        seq: row.seq,
        failures: row.failures,
        dueAtMs: row.due_at_ms,
        entry: entryOf(row.app_id, row),
      }))
    },

    async gaps(linkId) {
      return gaps.all(BigInt(linkId)).map((row) => ({ ...row }))
    },

    async linkTally(linkId) {
      const row = tally.get(BigInt(linkId))
      return row && tallyOf(row)
    },

    async attempts(linkId, limit) {
      return attempts.all(BigInt(linkId), limit).map((row) => attemptOf(linkId, row))
    },

    async deadLetters({ appId, webhookId }, range) {
      const read = (keyset: Keyset<DeadLetterRow>, ...ids: readonly string[]) =>
        readKeyset(keyset, range, ids.map(BigInt)).map(deadLetterOf)
      if (webhookId === undefined) {
        return appId === undefined ? read(deadLetters.all) : read(deadLetters.ofApp, appId)
      }
      return appId === undefined
        ? read(deadLetters.ofWebhook, webhookId)
        : read(deadLetters.ofWebhookOfApp, webhookId, appId)
    },

    async replays({ appId, state }) {
      const rows =
        appId !== undefined
          ? replaysOfApp.all(BigInt(appId))
          : state === "running"
            ? runningReplays.all()
            : allReplays.all()
      return rows.filter((row) => state === undefined || row.state === state).map(replayOf)
    },
  }
}

function linkToDeliverOf(row: LinkToDeliverRow): LinkToDeliver {
  return {
    ...linkOf(row),
    url: row.url,
    valid: row.valid === 1,
    position: row.position,
    isOrdered: row.ordered === 1,
    redeliveries: row.redeliveries,
    consumerSecretSealed: row.consumer_secret,
    signingKeySealed: row.signing_key,
    ...previousKeyOf(row),
  }
}

/** A row of `selectTallies`. */
export function tallyOf(row: TallyRow): LinkTally {
  return {
    linkId: row.link_id,
    appId: row.app_id,
    webhookId: row.webhook_id,
    firstPosition: row.first_position,
    position: row.position,
    delivered: row.delivered,
    retries: row.retries,
    deadLetters: row.dead_letters,
    expired: row.expired,
    missed: row.missed,
  }
}

function attemptOf(linkId: LinkId, row: AttemptRow): Attempt {
  return {
    linkId,
    seq: row.seq,
    atMs: row.at_ms,
    durationMs: row.duration_ms,
    outcome: row.outcome,
    ...(row.status !== null && { status: row.status }),
    bytes: row.bytes,
    ...(row.error !== null && { error: row.error }),
  }
}

function deadLetterOf(row: DeadLetterRow): DeadLetter {
  return {
    id: row.id,
    appId: row.app_id,
    webhookId: row.webhook_id,
    linkId: row.link_id,
    seq: row.seq,
    // Only of a damaged store is the match not there.
    postId: row.post_id ?? ("0" as PostId),
    matchedAtMs: row.at_ms ?? 0,
    failures: row.failures,
    outcome: row.outcome,
    ...(row.status !== null && { status: row.status }),
    ...(row.error !== null && { error: row.error }),
    diedAtMs: row.died_at_ms,
  }
}

function replayOf(row: ReplayRow): Replay {
  return {
    id: row.id,
    appId: row.app_id,
    webhookId: row.webhook_id,
    linkId: row.link_id,
    fromMs: row.from_ms,
    toMs: row.to_ms,
    position: row.position,
    endSeq: row.end_seq,
    delivered: row.delivered,
    failed: row.failed,
    createdAtMs: row.created_at_ms,
    state: row.state,
    ...(row.ended_at_ms !== null && { endedAtMs: row.ended_at_ms }),
  }
}
