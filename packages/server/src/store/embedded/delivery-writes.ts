/**
 * What deliveries write: how far each link has come and what it owes, attempts, replays.
 *
 * A match that a cursor has passed is at exactly one place: delivered, a retry, a dead letter, expired, or within a
 * gap marker. Every write here keeps that.
 */
import type { DatabaseSync } from "node:sqlite"
import type { Attempt } from "../../model/attempt.ts"
import type { DeadLetterSelector, DeadMatch } from "../../model/dead-letter.ts"
import type { AppId, LinkId } from "../../model/ids.ts"
import type { LinkProgress, Retry } from "../../model/link.ts"
import type { Replay, ReplayProgress } from "../../model/replay.ts"
import { prepareFreeMatch } from "./free-match.ts"
import { prepare, type Statement } from "./statements.ts"
import type { SyncWrites, WriteDeps } from "./writes.ts"

/** Ended replays that are kept of each app. */
const endedReplaysMax = 100

/** Most retries of a link when dead letters have joined them, and most that these have to send. Ours. */
const retriesPerLinkMax = 1_000
const retryBytesPerLinkMax = 16 * 1_048_576

/** Most dead letters that turn at once, and most retries that are looked at for it. Ours. */
const redeliveredMax = 10_000
const retriesLookedAtMax = 20_000

interface LinkStateRow {
  app_id: AppId
  position: number
  trimmed_to: number
}

/** A link with dead letters to choose from. */
interface LinkRoomRow {
  link_id: LinkId
  retries: number
}

interface DeadRow {
  id: string
  seq: number
  bytes: number
}

/** Dead letters that are to turn, of one link. */
interface Chosen {
  readonly linkId: LinkId
  readonly dead: readonly DeadRow[]
}

type DeliveryWrites = Pick<
  SyncWrites,
  "saveProgress" | "recordAttempts" | "redeliver" | "createReplay" | "saveReplay" | "endReplay"
>

/** The writes of deliveries on this connection. */
export function createDeliveryWrites(db: DatabaseSync, { announce }: WriteDeps): DeliveryWrites {
  const linkState = prepare<LinkStateRow>(
    db,
    `SELECT CAST (links.app_id AS TEXT) AS app_id, position, coalesce(trimmed_to, 0) AS trimmed_to
     FROM links LEFT JOIN match_logs ON match_logs.app_id = links.app_id WHERE links.id = ?`,
  )
  const moveCursor = prepare(
    db,
    `UPDATE links SET position = max(position, ?), delivered = delivered + ?, retries = retries + ?,
       dead_letters = dead_letters + ? WHERE id = ?`,
  )
  const insertRetry = prepare(
    db,
    `INSERT INTO retries (app_id, link_id, seq, failures, due_at_ms) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (link_id, seq) DO NOTHING`,
  )
  const updateRetry = prepare(
    db,
    "UPDATE retries SET failures = ?, due_at_ms = ? WHERE link_id = ? AND seq = ?",
  )
  const forgetRetry = prepare(db, "DELETE FROM retries WHERE link_id = ? AND seq = ?")
  const insertDead = prepare(
    db,
    `INSERT INTO dead_letters (app_id, link_id, seq, failures, outcome, status, error, died_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const forgetDeadMatch = prepare(db, "DELETE FROM dead_letters WHERE link_id = ? AND seq = ?")
  const freeMatch = prepareFreeMatch(db)

  const countAttempts = prepare<{ attempts: number }>(
    db,
    "UPDATE links SET attempts = attempts + ? WHERE id = ? RETURNING attempts",
  )
  const keepAttempt = prepare(
    db,
    `INSERT OR REPLACE INTO attempts (link_id, slot, number, seq, at_ms, duration_ms, outcome, status, bytes, error)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const shrinkRing = prepare(db, "DELETE FROM attempts WHERE link_id = ? AND slot >= ?")

  // The sizes are those of what is sent at most. SQLite knows them without reading the texts.
  const deadRows = (where: string): Statement<DeadRow> =>
    prepare(
      db,
      `SELECT CAST (dead_letters.id AS TEXT) AS id, dead_letters.seq, coalesce(octet_length(envelope), 0) AS bytes
       FROM dead_letters
         LEFT JOIN matches ON matches.app_id = dead_letters.app_id AND matches.seq = dead_letters.seq
         LEFT JOIN posts ON posts.id = post_id
       WHERE ${where}`,
    )
  const deadById = deadRows("dead_letters.id = ?")
  const deadOfLinkSince = deadRows("link_id = ? AND died_at_ms >= ? ORDER BY died_at_ms")
  const retryBytes = prepare<{ bytes: number }>(
    db,
    `SELECT coalesce(sum(octet_length(envelope)), 0) AS bytes
     FROM retries JOIN matches ON matches.app_id = retries.app_id AND matches.seq = retries.seq
       JOIN posts ON posts.id = post_id
     WHERE link_id = ?`,
  )
  const linkRooms = (where: string): Statement<LinkRoomRow> =>
    prepare(
      db,
      `SELECT CAST (links.id AS TEXT) AS link_id, retries FROM links WHERE dead_letters > 0 AND ${where}
       ORDER BY retries, links.id`,
    )
  const linkRoomsOfAll = linkRooms("true")
  const linkRoomsOfApp = linkRooms("app_id = ?")
  const linkRoomOfWebhook = linkRooms("webhook_id = ?1 AND (?2 IS NULL OR +app_id = ?2)")
  const linkRoomOfDead = linkRooms(
    "links.id = (SELECT link_id FROM dead_letters WHERE id = ?1) AND (?2 IS NULL OR +app_id = ?2)",
  )
  const forgetDead = prepare(db, "DELETE FROM dead_letters WHERE id = ?")
  const countRedelivery = prepare<{ app_id: AppId }>(
    db,
    `UPDATE links SET redeliveries = redeliveries + 1, retries = retries + ?, dead_letters = dead_letters - ?
     WHERE id = ? RETURNING CAST (app_id AS TEXT) AS app_id`,
  )

  const linkOfReplay = prepare(db, "SELECT 1 FROM links WHERE id = ? AND app_id = ? AND webhook_id = ?")
  const runningReplay = prepare(db, "SELECT 1 FROM replays WHERE webhook_id = ? AND state = 'running'")
  const insertReplay = prepare(
    db,
    `INSERT INTO replays (id, app_id, webhook_id, link_id, from_ms, to_ms, position, end_seq, delivered, failed,
       created_at_ms, state, ended_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const moveReplay = prepare(
    db,
    "UPDATE replays SET position = ?, delivered = ?, failed = ? WHERE id = ? AND state = 'running'",
  )
  const endReplay = prepare<{ app_id: AppId }>(
    db,
    `UPDATE replays SET state = ?, ended_at_ms = ? WHERE id = ? AND state = 'running'
     RETURNING CAST (app_id AS TEXT) AS app_id`,
  )
  const forgetOldReplays = prepare(
    db,
    `DELETE FROM replays WHERE app_id = ?1 AND state != 'running' AND id NOT IN (
       SELECT id FROM replays WHERE app_id = ?1 AND state != 'running' ORDER BY id DESC LIMIT ?2)`,
  )

  /**
   * What a cursor has passed is owed no more unless it is a retry or dead already: it is delivered, or retention took
   * it and counts it as missed.
   */
  function keepRetry(link: bigint, { app_id: app, position }: LinkStateRow, retry: Retry): number {
    const { seq, failures, dueAtMs } = retry
    const isNew = seq > position && insertRetry.run(BigInt(app), link, seq, failures, dueAtMs) === 1
    if (!isNew) updateRetry.run(failures, dueAtMs, link, seq)
    return isNew ? 1 : 0
  }

  /** Answers by how much it changes the number of retries, and that of dead letters. */
  function bury(link: bigint, { app_id: app, position }: LinkStateRow, dead: DeadMatch): [number, number] {
    const { seq, failures, outcome, status, error, diedAtMs } = dead
    const retries = forgetRetry.run(link, seq)
    const deadLetters = forgetDeadMatch.run(link, seq)
    if (seq <= position && retries + deadLetters === 0) return [0, 0]
    insertDead.run(BigInt(app), link, seq, failures, outcome, status ?? null, error ?? null, diedAtMs)
    return [-retries, 1 - deadLetters]
  }

  function saveOne(link: bigint, state: LinkStateRow, progress: LinkProgress): void {
    let [retries, deadLetters] = [0, 0]
    for (const retry of progress.retries) retries += keepRetry(link, state, retry)
    // Before the settled are forgotten: those that have died are among them.
    for (const dead of progress.dead) {
      const [retriesBy, deadLettersBy] = bury(link, state, dead)
      retries += retriesBy
      deadLetters += deadLettersBy
    }
    for (const seq of progress.settled) retries -= forgetRetry.run(link, seq)
    // What was on its way when retention took it is counted as missed; that it arrived after all changes nothing. Nor
    // does it count that something is told twice.
    const passed = Math.max(progress.position - state.position, 0)
    const delivered = Math.max(Math.min(progress.delivered, passed - retries - deadLetters), 0)
    moveCursor.run(progress.position, delivered, retries, deadLetters, link)
    for (const seq of progress.settled) if (seq <= state.trimmed_to) freeMatch(BigInt(state.app_id), seq)
  }

  /** Links with dead letters to choose from, those with the fewest retries first, and these in the order of death. */
  function* candidates(
    selector: DeadLetterSelector,
  ): Generator<LinkRoomRow & { readonly dead: Iterable<DeadRow> }, void, void> {
    const app = selector.appId === undefined ? null : BigInt(selector.appId)
    if (selector.kind === "ids") {
      const ofLinks = new Map<LinkId, LinkRoomRow & { readonly dead: DeadRow[] }>()
      for (const id of new Set(selector.ids)) {
        const link = linkRoomOfDead.get(BigInt(id), app)
        if (link === undefined) continue
        const ofLink = ofLinks.get(link.link_id) ?? { ...link, dead: [] }
        ofLink.dead.push(...deadById.all(BigInt(id)))
        ofLinks.set(link.link_id, ofLink)
      }
      yield* ofLinks.values()
      return
    }
    const since = selector.sinceMs ?? Number.MIN_SAFE_INTEGER
    const links =
      selector.webhookId !== undefined
        ? linkRoomOfWebhook.all(BigInt(selector.webhookId), app)
        : app === null
          ? linkRoomsOfAll.all()
          : linkRoomsOfApp.all(app)
    for (const link of links) {
      yield { ...link, dead: deadOfLinkSince.iterate(BigInt(link.link_id), since) }
    }
  }

  /** Those for which their links have room among their retries. */
  function withRoom(selector: DeadLetterSelector): readonly Chosen[] {
    const chosen: Chosen[] = []
    let room = redeliveredMax
    let lookedAt = 0
    for (const { link_id: linkId, retries, dead } of candidates(selector)) {
      if (room === 0 || lookedAt > retriesLookedAtMax) break
      if (retries >= retriesPerLinkMax) continue
      lookedAt += retries
      const ofLink: DeadRow[] = []
      let bytes = retries === 0 ? 0 : (retryBytes.get(BigInt(linkId))?.bytes ?? 0)
      for (const row of dead) {
        bytes += row.bytes
        // One goes in any case, whatever its size.
        if (bytes > retryBytesPerLinkMax && retries + ofLink.length > 0) break
        ofLink.push(row)
        room -= 1
        if (room === 0 || retries + ofLink.length === retriesPerLinkMax) break
      }
      if (ofLink.length > 0) chosen.push({ linkId, dead: ofLink })
    }
    return chosen
  }

  function redeliverTo({ linkId, dead }: Chosen): number {
    const link = BigInt(linkId)
    const app = countRedelivery.get(dead.length, dead.length, link)?.app_id
    if (app === undefined) return 0
    for (const { id, seq } of dead) {
      insertRetry.run(BigInt(app), link, seq, 0, 0)
      forgetDead.run(BigInt(id))
    }
    return dead.length
  }

  return {
    saveProgress(all: readonly LinkProgress[]) {
      for (const progress of all) {
        const link = BigInt(progress.linkId)
        const state = linkState.get(link)
        if (state !== undefined) saveOne(link, state, progress)
      }
    },

    recordAttempts(attempts: readonly Attempt[], { keptPerLink }) {
      if (keptPerLink < 1) return
      for (const [linkId, ofLink] of Map.groupBy(attempts, (attempt) => attempt.linkId)) {
        const link = BigInt(linkId)
        const last = countAttempts.get(ofLink.length, link)?.attempts
        if (last === undefined) continue
        shrinkRing.run(link, keptPerLink)
        const kept = ofLink.slice(-keptPerLink)
        for (const [index, attempt] of kept.entries()) {
          const number = last - kept.length + 1 + index
          keepAttempt.run(
            link,
            number % keptPerLink,
            number,
            attempt.seq,
            attempt.atMs,
            attempt.durationMs,
            attempt.outcome,
            attempt.status ?? null,
            attempt.bytes,
            attempt.error ?? null,
          )
        }
      }
    },

    redeliver(selector: DeadLetterSelector) {
      const redelivered = withRoom(selector).reduce((sum, ofLink) => sum + redeliverTo(ofLink), 0)
      if (redelivered > 0) announce({ kind: "control" })
      return redelivered
    },

    createReplay(replay: Replay) {
      const [app, webhook, link] = [replay.appId, replay.webhookId, replay.linkId].map(BigInt) as [
        bigint,
        bigint,
        bigint,
      ]
      if (linkOfReplay.get(link, app, webhook) === undefined) return "no-link"
      if (runningReplay.get(webhook) !== undefined) return "conflict"
      insertReplay.run(
        BigInt(replay.id),
        app,
        webhook,
        link,
        replay.fromMs,
        replay.toMs,
        replay.position,
        replay.endSeq,
        replay.delivered,
        replay.failed,
        replay.createdAtMs,
        replay.state,
        replay.endedAtMs ?? null,
      )
      announce({ kind: "control" })
      return "created"
    },

    saveReplay({ id, position, delivered, failed }: ReplayProgress) {
      moveReplay.run(position, delivered, failed, BigInt(id))
    },

    endReplay(id, state, atMs) {
      const ended = endReplay.get(state, atMs, BigInt(id))
      if (ended !== undefined) forgetOldReplays.run(BigInt(ended.app_id), endedReplaysMax)
    },
  }
}
