/** Attacks that read: responses that are never read, pages of large posts, lists of rules. */
import { pathOf, paths } from "../../packages/api/src/paths.ts"
import { addRules, getJson, gzipped, lines, post, repeated, send, sendUnread, type Attack } from "./traffic.ts"

const pagesPath = pathOf(paths.userPosts, { id: "7" })

/** Sends requests and never reads the responses. No token needed. */
export const pipelining: Attack = {
  async run(app, signal) {
    const requests = (path: string, count: number): Buffer =>
      Buffer.from(`GET ${path} HTTP/1.1\r\nHost: attack\r\n\r\n`.repeat(count))
    const documents = requests(paths.openapi, 3_000)
    const metrics = requests(paths.metrics, 1_700)
    await Promise.all([
      ...repeated(50, signal, () => sendUnread(app, documents, signal)),
      ...repeated(5, signal, () => sendUnread(app, metrics, signal)),
    ])
  },
}

/** Stores posts of the maximum size and makes every request that reads many of them. */
export const largePosts: Attack = {
  async prepare(app) {
    const filler = "x".repeat(250_000)
    for (let from = 0; from < 5_000; from += 100) {
      await send(
        app,
        "POST",
        paths.posts,
        gzipped(lines(100, (at) => post(from + at, "large", { filler, in_reply_to_user_id: "8" }))),
      )
    }
  },
  async run(app, signal) {
    const test = JSON.stringify({ value: "large", recent: 1_000 })
    const page = `${pagesPath}?max_results=100&exclude=replies`
    const whole = `${pagesPath}?max_results=100&tweet.fields=created_at`
    await Promise.all([
      ...repeated(6, signal, () => send(app, "POST", paths.ruleTest, test, signal)),
      ...repeated(40, signal, () => send(app, "GET", page, undefined, signal)),
      ...repeated(40, signal, () => send(app, "GET", whole, undefined, signal)),
    ])
  },
}

/**
 * Lists a thousand rules of the maximum length on many connections: all of them, by ids, and with a search that finds
 * none.
 */
export function ruleLists(connections: number): Attack {
  return {
    async prepare(app) {
      await addRules(app, 1_000, (at) => ({ value: `r${at} OR (${longRule})`, tag: "t".repeat(100) }))
    },
    async run(app, signal) {
      const { data } = await getJson<{ readonly data: readonly { readonly id: string }[] }>(app, paths.rules)
      const ids = data.slice(0, 700).map(({ id }) => id)
      const lists = [paths.rules, `${paths.rules}?ids=${ids.join(",")}`, `${paths.ruleDetails}?query=nowhere`]
      const read = (at: number): Promise<unknown> =>
        send(app, "GET", lists[at % lists.length] ?? paths.rules, undefined, signal)
      await Promise.all(Array.from({ length: connections }, (_, at) => repeated(1, signal, () => read(at))).flat())
    },
  }
}

const longRule = Array.from({ length: 200 }, (_, at) => `слово${1_000 + at}`).join(" ")
