/** The contents of a store as its files or its database have them, read past the server. */
import { copyFileSync, existsSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import pg from "pg"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { numberIn, peerSource } from "./source-peers.testing.ts"

/** The place of a store. */
export type StorePlace =
  | { readonly kind: "embedded"; readonly data: string }
  | { readonly kind: "postgres"; readonly url: string }

/** The source of a peer and its posts, as a store has them. */
export interface StoreContents {
  /** Absent before the first, and for a source whose broker keeps it. */
  readonly position: string | undefined
  /** How often the source has had another driver. */
  readonly driver: number
  /** Numbers of the posts, the lowest first. */
  readonly numbers: readonly number[]
  /** Ids of the posts, and of the posts of matches, sorted; each as often as it is there. */
  readonly postIds: readonly string[]
  readonly matchedIds: readonly string[]
  /** Reasons of the gaps. */
  readonly gaps: readonly string[]
  readonly deadLetters: number
}

type Row = Readonly<Record<string, unknown>>

/** Reads a store, also one whose process was killed: its files stay as they are. */
export async function readStore(place: StorePlace): Promise<StoreContents> {
  return place.kind === "embedded" ? readFiles(place.data) : readDatabase(place.url)
}

async function readFiles(data: string): Promise<StoreContents> {
  // A connection would put the log into the file, which the next process is to do.
  await using copy = await temporaryDirectory()
  for (const name of ["sluice.db", "sluice.db-wal"]) {
    if (existsSync(join(data, name))) copyFileSync(join(data, name), join(copy.path, name))
  }
  using db = new DatabaseSync(join(copy.path, "sluice.db"))
  return await contentsOf(async (sql) => db.prepare(sql).all(), "json_extract(envelope, '$.data.text')")
}

async function readDatabase(url: string): Promise<StoreContents> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await contentsOf(async (sql) => (await client.query<Row>(sql)).rows, "envelope::json->'data'->>'text'")
  } finally {
    await client.end()
  }
}

async function contentsOf(
  rowsOf: (sql: string) => Promise<readonly Row[]>,
  textColumn: string,
): Promise<StoreContents> {
  const [source] = await rowsOf(`SELECT position, driver FROM sources WHERE name = '${peerSource}'`)
  const posts = await rowsOf(`SELECT CAST(id AS text) AS id, ${textColumn} AS text FROM posts`)
  const matches = await rowsOf("SELECT CAST(post_id AS text) AS id FROM matches WHERE post_id IS NOT NULL")
  const count = async (table: string): Promise<number> =>
    Number((await rowsOf(`SELECT count(*) AS count FROM ${table}`))[0]?.["count"])
  const position = source?.["position"]
  return {
    position: typeof position === "string" ? position : undefined,
    driver: Number(source?.["driver"] ?? 0),
    numbers: posts.map(({ text }) => numberIn(String(text))).toSorted((a, b) => a - b),
    postIds: posts.map(({ id }) => String(id)).toSorted(),
    matchedIds: matches.map(({ id }) => String(id)).toSorted(),
    gaps: (await rowsOf("SELECT reason FROM source_gaps")).map(({ reason }) => String(reason)),
    deadLetters: await count("source_dead_letters"),
  }
}
