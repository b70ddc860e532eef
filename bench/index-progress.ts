/** How far the search index of a server is. No request says so, so this reads the index where it is kept. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { searchName } from "../packages/server/src/store/embedded/connection/derived-files.ts"
import { psql, type BenchDatabase } from "./psql.ts"
import type { MeasuredSluice } from "./servers.ts"

/** The index of a running server. */
export interface IndexProgress extends Disposable {
  /** Posts that are in the index. */
  posts(): Promise<number>
  /** Bytes of the index. */
  bytes(): Promise<number>
}

/** Opens the index of a server: a file in its data directory, or tables of its database. */
export function indexOf(sluice: MeasuredSluice, database?: BenchDatabase): IndexProgress {
  return database === undefined ? indexInFile(join(sluice.data, searchName)) : indexInDatabase(database)
}

/** Resolves when the index has so many posts. */
export async function indexed(index: IndexProgress, posts: number): Promise<void> {
  while ((await index.posts()) < posts) await sleep(100)
}

function indexInFile(file: string): IndexProgress {
  const db = new DatabaseSync(file, { readOnly: true })
  const posts = db.prepare("SELECT coalesce(sum(posts), 0) AS value FROM partitions")
  const bytes = db.prepare(
    `SELECT (page_count - freelist_count) * page_size AS value
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  )
  return {
    posts: async () => Number(posts.get()?.["value"]),
    bytes: async () => Number(bytes.get()?.["value"]),
    [Symbol.dispose]: () => db.close(),
  }
}

function indexInDatabase({ name }: BenchDatabase): IndexProgress {
  return {
    posts: async () => Number(await psql(name, "SELECT coalesce(sum(posts), 0) FROM search_partitions")),
    bytes: async () =>
      Number(
        await psql(
          name,
          String.raw`SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class
            WHERE relkind = 'r' AND relname ~ '^search_\d+_\d+$'`,
        ),
      ),
    [Symbol.dispose]: () => undefined,
  }
}
