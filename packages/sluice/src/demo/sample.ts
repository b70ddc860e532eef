import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"

/** A post of the sample, as the demo needs it. */
export interface SamplePost {
  readonly id: string
  readonly authorId: string
  /** Its line of the file. */
  readonly line: string
}

/** The sample posts, written for the project. */
export interface Sample {
  readonly file: string
  readonly posts: readonly SamplePost[]
  /** The user with the most posts, and these posts' ids, newest first. */
  readonly mostActive: { readonly id: string; readonly username: string; readonly postIds: readonly string[] }
}

interface Envelope {
  readonly data: { readonly id: string; readonly author_id: string }
  readonly includes: { readonly users: readonly { readonly id: string; readonly username: string }[] }
}

/** Reads the sample that comes with the command. */
export async function readSample(): Promise<Sample> {
  const file = fileURLToPath(new URL("../../sample/posts.ndjson", import.meta.url))
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "")
  const envelopes = lines.map((line) => JSON.parse(line) as Envelope)
  const posts = envelopes.map(({ data }, at) => ({
    id: data.id,
    authorId: data.author_id,
    line: lines[at] ?? "",
  }))
  const byAuthor = Map.groupBy(posts, ({ authorId }) => authorId)
  const [id, own] = [...byAuthor].reduce((most, other) => (other[1].length > most[1].length ? other : most))
  const username = envelopes.flatMap(({ includes }) => includes.users).find((user) => user.id === id)?.username ?? id
  const postIds = own.map((post) => post.id).toSorted(newestFirst)
  return { file, posts, mostActive: { id, username, postIds } }
}

/** Ids order as numbers. */
export function newestFirst(a: string, b: string): number {
  return b.length - a.length || (a < b ? 1 : a > b ? -1 : 0)
}
