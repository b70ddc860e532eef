/** One app that does everything at once. */
import { pathOf, paths } from "../../packages/api/src/paths.ts"
import { ruleLists, largePosts } from "./readers.ts"
import { repeated, send, sendUnread, type Attack } from "./traffic.ts"

const lists = ruleLists(20)

/** Responses that are never read, pages of large posts, lists of rules, tests, and dry runs of changes. */
export const everythingAtOnce: Attack = {
  async prepare(app) {
    await largePosts.prepare?.(app)
    await lists.prepare?.(app)
  },
  async run(app, signal) {
    const page = `${pathOf(paths.userPosts, { id: "7" })}?max_results=100`
    const head = `Host: attack\r\nAuthorization: Bearer ${app.token}\r\n\r\n`
    const unread = Buffer.from(`GET ${page} HTTP/1.1\r\n${head}`.repeat(10))
    let next = 0
    const change = (): string =>
      JSON.stringify({
        add: Array.from({ length: 1_000 }, () => ({ value: `e${next++} `.repeat(200).slice(0, 1_000) })),
      })
    await Promise.all([
      ...repeated(36, signal, () => sendUnread(app, unread, signal)),
      ...repeated(3, signal, () => send(app, "POST", `${paths.rules}?dry_run=true`, change(), signal)),
      largePosts.run(app, signal),
      lists.run(app, signal),
    ])
  },
}
