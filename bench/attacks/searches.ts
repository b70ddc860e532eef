/** Searches that cost the most, from ten connections. */
import { paths } from "../../packages/api/src/paths.ts"
import { gzipped, lines, post, repeated, send, type Attack } from "./traffic.ts"

/** Longest query. Source: docs.x.com, "Full-archive search". */
const queryCharactersMax = 4_096

/** Stores posts of the maximum length, and asks for what nearly all of them have in another order. */
export const searches: Attack = {
  settings: { SLUICE_SEARCH: "on" },
  async prepare(app) {
    const text = "lorem ipsum dolor sit amet ".repeat(925)
    for (let from = 0; from < 5_000; from += 1_000) {
      await send(app, "POST", paths.posts, gzipped(lines(1_000, (at) => post(from + at, text))))
    }
  },
  async run(app, signal) {
    const costly = costlyQueries.map((query) => encodeURIComponent(query))
    const requests = costly.flatMap((query) => [
      `${paths.searchAll}?query=${query}&max_results=500`,
      `${paths.searchAll}?query=${query}&sort_order=relevancy`,
      `${paths.countsAll}?query=${query}&granularity=minute`,
    ])
    const request = (at: number): string => requests[at % requests.length] ?? ""
    await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        repeated(1, signal, () => send(app, "GET", request(at), undefined, signal)),
      ).flat(),
    )
  },
}

const words = ["lorem", "ipsum", "dolor", "sit", "amet"]

/** As many phrases as a query has room for, flat and nested: all posts have their words, none in this order. */
const costlyQueries = [
  filled((at) => `"${orderOf(at)}" OR `, '"ipsum lorem"'),
  filled((at) => `"${orderOf(at)}"~1 OR `, '"ipsum lorem"'),
  // Deeper than the language of SQLite's index.
  `${'("ipsum lorem" OR lorem ('.repeat(90)}"dolor ipsum"${"))".repeat(90)}`,
]

/** Five words in an order of this number, which begins with the same word twice. */
function orderOf(at: number): string {
  return [0, 0, at / 25, at / 5, at].map((number) => words[Math.floor(number) % words.length]).join(" ")
}

function filled(part: (at: number) => string, last: string): string {
  let query = ""
  for (let at = 0; query.length + part(at).length + last.length <= queryCharactersMax; at += 1) query += part(at)
  return query + last
}
