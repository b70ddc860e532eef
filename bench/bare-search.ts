/**
 * `node bare-search.ts sqlite STORE INDEX` or `node bare-search.ts postgres URL`: the barest search over the posts of a
 * store. An index of their words, made anew, finds ids, and the rows of the store are parsed. Prints its port.
 *
 *     /posts?words=a,b&without=c     the newest hundred posts with all of these words and none of those: ids and texts
 *     /counts?words=a                how many posts have the words, by the hour
 *
 * It checks no token, evaluates no rule and knows no budget; a word is a run of letters and digits.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { DatabaseSync } from "node:sqlite"
import { snowflakeEpochMs } from "../packages/api/src/snowflake.ts"
import { ClusterDatabase } from "../packages/server/src/store/cluster/connection/database.ts"

const pagePosts = 100
const batchPosts = 500
const hourMs = 3_600_000

/** The words of a query. */
interface Words {
  readonly words: readonly string[]
  readonly without: readonly string[]
}

interface Hour {
  readonly hour: number
  readonly posts: number
}

/** An index over a store. */
interface BareIndex {
  /** The stored envelopes of the newest posts. */
  newest(query: Words): Promise<readonly string[]>
  counts(query: Words): Promise<readonly Hour[]>
}

const [kind, place = "", file = ""] = process.argv.slice(2)
const index = kind === "sqlite" ? sqliteIndex(place, file) : await postgresIndex(place)
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://127.0.0.1")
  const named = (name: string): readonly string[] => searchParams.get(name)?.split(",") ?? []
  const query = { words: named("words"), without: named("without") }
  void (async () => {
    const data = pathname === "/counts" ? await index.counts(query) : (await index.newest(query)).map(shown)
    const body = Buffer.from(JSON.stringify({ data }))
    response.writeHead(200, { "content-type": "application/json; charset=utf-8", "content-length": body.length })
    response.end(body)
  })()
})
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})

function shown(json: string): { readonly id: string; readonly text: string } {
  const { id, text } = (JSON.parse(json) as { data: { id: string; text: string } }).data
  return { id, text }
}

/** The words of a post, with one for its language and one for a repost. */
function wordsOf(json: string): readonly string[] {
  const { data } = JSON.parse(json) as {
    data: { text: string; lang?: string; referenced_tweets?: readonly { type: string }[] }
  }
  const words = new Set(data.text.toLowerCase().match(/[\p{L}\p{N}]+/gu))
  if (data.lang !== undefined) words.add(`lang${data.lang}`)
  if (data.referenced_tweets?.some(({ type }) => type === "retweeted") === true) words.add("isretweet")
  return [...words]
}

function sqliteIndex(storeFile: string, indexFile: string): BareIndex {
  const store = new DatabaseSync(storeFile, { readOnly: true })
  const db = new DatabaseSync(indexFile)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA cache_size = -16384;
    CREATE VIRTUAL TABLE posts USING fts5(words, content='', detail=none, tokenize='unicode61 remove_diacritics 0')`)
  const all = store.prepare("SELECT id, envelope FROM posts ORDER BY id")
  all.setReadBigInts(true)
  const insert = db.prepare("INSERT INTO posts (rowid, words) VALUES (?, ?)")
  // A run returns the last row id, and ids of posts fit no double.
  insert.setReadBigInts(true)
  let added = 0
  db.exec("BEGIN")
  for (const { id, envelope } of all.iterate()) {
    insert.run(id as bigint, wordsOf(envelope as string).join(" "))
    added += 1
    if (added % batchPosts === 0) db.exec("COMMIT; BEGIN")
  }
  db.exec("COMMIT")

  const find = db.prepare("SELECT rowid AS id FROM posts WHERE posts MATCH ? ORDER BY rowid DESC LIMIT ?")
  find.setReadBigInts(true)
  const count = db.prepare(
    `SELECT ((rowid >> 22) + ${snowflakeEpochMs}) / ${hourMs} AS hour, count(*) AS posts FROM posts WHERE posts MATCH ?
     GROUP BY hour`,
  )
  const row = store.prepare("SELECT envelope FROM posts WHERE id = ?")
  const expression = ({ words, without }: Words): string => [words.join(" AND "), ...without].join(" NOT ")
  return {
    newest: async (query) =>
      find.all(expression(query), pagePosts).map(({ id }) => row.get(id as bigint)?.["envelope"] as string),
    counts: async (query) => count.all(expression(query)) as unknown as readonly Hour[],
  }
}

async function postgresIndex(url: string): Promise<BareIndex> {
  const db = new ClusterDatabase({ url, poolMax: 2, statementMsMax: 600_000 }, () => undefined)
  await db.write((transaction) =>
    transaction.script(
      "CREATE UNLOGGED TABLE bare (id bigint PRIMARY KEY, words tsvector); CREATE INDEX ON bare USING gin (words)",
    ),
  )
  let last = "-1"
  for (;;) {
    const rows = await db.rows<{ id: string; envelope: string }>(
      "SELECT id, envelope FROM posts WHERE id > $1 ORDER BY id LIMIT $2",
      last,
      batchPosts,
    )
    if (rows.length === 0) break
    await db.run(
      `INSERT INTO bare SELECT id, array_to_tsvector(string_to_array(words, ' '))
       FROM unnest($1::bigint[], $2::text[]) AS given (id, words)`,
      rows.map(({ id }) => id),
      rows.map(({ envelope }) => wordsOf(envelope).join(" ")),
    )
    last = rows.at(-1)?.id ?? last
  }
  await db.write((transaction) => transaction.script("ANALYZE bare"))

  const expression = ({ words, without }: Words): string => [...words, ...without.map((word) => `!${word}`)].join(" & ")
  return {
    async newest(query) {
      const rows = await db.rowsOnce<{ json: string }>(
        `SELECT envelope AS json FROM (
           SELECT id FROM bare WHERE words @@ $1::tsquery ORDER BY id DESC LIMIT $2) AS found
         JOIN posts USING (id) ORDER BY id DESC`,
        expression(query),
        pagePosts,
      )
      return rows.map(({ json }) => json)
    },
    counts: (query) =>
      db.rowsOnce<Hour>(
        `SELECT ((id >> 22) + ${snowflakeEpochMs}) / ${hourMs} AS hour, count(*) AS posts FROM bare
         WHERE words @@ $1::tsquery GROUP BY 1`,
        expression(query),
      ),
  }
}
