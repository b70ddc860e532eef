/**
 * `bare-inserts.ts FILE`: copies posts from one store into another of the same shape and settings, in the server's
 * batches, each durable before the next.
 */
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { openForWriting } from "../packages/server/src/store/embedded/connection/database.ts"
import { checkpointPages } from "../packages/server/src/store/embedded/connection/log-checkpoints.ts"
import { replyToEach } from "./child.ts"

/** Copies the posts between these ids, both included. Reply: `perSecond`, without the time to read them. */
export interface InsertsMessage {
  /** The store to copy from. */
  readonly file: string
  readonly firstId: string
  readonly lastId: string
}

/** Posts in a transaction. Source: `ingest/accept-posts.ts`. */
const batchPosts = 500

const db = openForWriting(process.argv[2] ?? "")
db.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages(db).carried}`)

replyToEach<InsertsMessage>(({ file, firstId, lastId }) => {
  const rows = postsOf(file, firstId, lastId)
  const places = rows[0]?.map(() => "?").join(", ")
  const insert = db.prepare(`INSERT INTO posts VALUES (${places})`)
  // A run returns the last row id, and ids of posts fit no double.
  insert.setReadBigInts(true)
  const startMs = performance.now()
  for (let from = 0; from < rows.length; from += batchPosts) {
    db.exec("BEGIN IMMEDIATE")
    for (const row of rows.slice(from, from + batchPosts)) insert.run(...row)
    db.exec("COMMIT")
  }
  return { perSecond: (rows.length / (performance.now() - startMs)) * 1000 }
})

function postsOf(file: string, firstId: string, lastId: string): readonly SQLInputValue[][] {
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    const select = source.prepare("SELECT * FROM posts WHERE id BETWEEN ? AND ?")
    select.setReadBigInts(true)
    select.setReturnArrays(true)
    const rows = select.all(BigInt(firstId), BigInt(lastId)) as unknown as SQLInputValue[][]
    if (rows.length === 0) throw new Error("no posts to copy")
    return rows
  } finally {
    source.close()
  }
}
