/** The match log of each app, and the append of posts with their matches. */
import type { MatchLogReads, MatchLogWrites } from "../../port/match-log.ts"
import type { DatabaseSync } from "node:sqlite"
import { beforeFirstMatch, type AppId, type MatchSeq } from "../../../model/ids.ts"
import { matchChecksum } from "../connection/checksums.ts"
import { prepareMatchesOfPost, prepareReadLog, prepareReadMatch } from "./match-entries.ts"
import { prepareInsertPosts } from "./posts.ts"
import { storedRules } from "../../stored-rules.ts"
import { AppendedNotes } from "../serving/appended-entries.ts"
import { RecentMatches, type RecentSettings } from "../serving/recent-matches.ts"
import type { TrimmedLog } from "../../port/match-log.ts"
import { recordOf } from "../../rows/record.ts"
import { columnsAs, prepare } from "../connection/statements.ts"
import type { ReadContext, SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"

/** The reads of match logs. */
export function createMatchLogReads(db: DatabaseSync, { recent }: ReadContext): SyncReads<MatchLogReads> {
  const headOf = prepare<{ head: MatchSeq }>(db, "SELECT head FROM match_logs WHERE app_id = ?")
  const heads = prepare<{ appId: AppId; head: MatchSeq }>(
    db,
    `SELECT ${columnsAs("match_logs", "app_id, head")} FROM match_logs WHERE head > 0`,
  )
  const trimmedOf = prepare<TrimmedLog>(
    db,
    `SELECT trimmed_to AS "to", trimmed_until_ms AS untilMs FROM match_logs
     WHERE app_id = ? AND trimmed_until_ms IS NOT NULL`,
  )
  return {
    heads() {
      const found = new Map(heads.all().map((row) => [row.appId, row.head]))
      for (const [appId, head] of found) recent.noteHead(appId, head)
      return found
    },
    head(appId) {
      const head = headOf.get(BigInt(appId))?.head ?? beforeFirstMatch
      recent.noteHead(appId, head)
      return head
    },
    positionAt: preparePositionAt(db),
    trimmed(appId) {
      const row = trimmedOf.get(BigInt(appId))
      return row && recordOf(row)
    },
    match: prepareReadMatch(db),
    matches: (range) => recent.read(range),
    matchesOfPost: prepareMatchesOfPost(db),
  }
}

/** Recent matches of what this connection reads, in `keptBytesMax`. */
export function createRecentMatches(
  db: DatabaseSync,
  options: Pick<RecentSettings, "keptBytesMax" | "setFollowed">,
): RecentMatches {
  const trimmedOf = prepare<{ trimmed_to: MatchSeq }>(db, "SELECT trimmed_to FROM match_logs WHERE app_id = ?")
  return new RecentMatches({
    ...options,
    readLog: prepareReadLog(db),
    readTrimmedTo: (appId) => trimmedOf.get(BigInt(appId))?.trimmed_to ?? beforeFirstMatch,
  })
}

/** Prepares the search for the position in an app's log after which everything was appended at or after a moment. */
export function preparePositionAt(db: DatabaseSync): (appId: AppId, atMs: number) => MatchSeq {
  const log = prepare<{ head: number; trimmed_to: number }>(
    db,
    "SELECT head, trimmed_to FROM match_logs WHERE app_id = ?",
  )
  const atOf = prepare<{ at_ms: number }>(db, "SELECT at_ms FROM matches WHERE app_id = ? AND seq = ?")
  return (appId, atMs) => {
    const app = BigInt(appId)
    const { head, trimmed_to: trimmedTo } = log.get(app) ?? { head: 0, trimmed_to: 0 }
    // A binary search: entries are in the order of time (one writer's clock, steps back aside). Entries that retention
    // has passed are older than all others.
    let before = trimmedTo
    let newEnough = head + 1
    while (newEnough - before > 1) {
      const middle = Math.floor((before + newEnough) / 2)
      const entry = atOf.get(app, middle)
      if (entry !== undefined && entry.at_ms >= atMs) newEnough = middle
      else before = middle
    }
    return before as MatchSeq
  }
}

/** The append of posts with their matches. */
export function createAppend(db: DatabaseSync, context: WriteContext): SyncWrites<MatchLogWrites> {
  return { append: prepareAppend(db, context) }
}

/** Prepares the append, for those who write more in the same transaction. */
export function prepareAppend(
  db: DatabaseSync,
  { announce, followed }: Pick<WriteContext, "announce" | "followed">,
): SyncWrites<MatchLogWrites>["append"] {
  const insertPosts = prepareInsertPosts(db)
  const countPosts = prepare(db, "UPDATE totals SET posts_accepted = posts_accepted + ?")
  const headOf = prepare<{ head: number }>(db, "SELECT head FROM match_logs WHERE app_id = ?")
  const saveHead = prepare(
    db,
    "INSERT INTO match_logs (app_id, head) VALUES (?1, ?2) ON CONFLICT (app_id) DO UPDATE SET head = ?2",
  )
  const insertMatch = prepare(
    db,
    "INSERT INTO matches (app_id, seq, post_id, at_ms, rules, checksum) VALUES (?, ?, ?, ?, ?, ?)",
  )
  return (batch, atMs) => {
    const heads = new Map<AppId, number>()
    const notes = new AppendedNotes(followed)
    const stored = insertPosts(batch.map(({ post }) => post))
    for (const [index, { matches }] of batch.entries()) {
      const post = stored[index]
      if (post === undefined) continue
      for (const { appId, ...matched } of matches) {
        const app = BigInt(appId)
        const seq = (heads.get(appId) ?? headOf.get(app)?.head ?? 0) + 1
        heads.set(appId, seq)
        const rules = storedRules(matched)
        const checksum = matchChecksum(appId, { seq, postId: post.id, atMs, rules })
        insertMatch.run(app, seq, BigInt(post.id), atMs, rules, checksum)
        notes.add({ appId, seq: seq as MatchSeq, atMs, rules }, post)
      }
    }
    const isNew = stored.map((post) => post !== undefined)
    const newPosts = isNew.filter(Boolean).length
    if (newPosts > 0) countPosts.run(newPosts)
    for (const [appId, head] of heads) saveHead.run(BigInt(appId), head)
    if (heads.size > 0 || newPosts > 0) announce({ kind: "matches", appIds: [...heads.keys()], ...notes.appended })
    return isNew
  }
}
