/**
 * Look-ups of 100 posts by their ids, and of 100 users by their names, of 100,000 posts: requests per second, against a
 * bare `node:http` that has the bytes of the response in memory.
 *
 * Source of the goal, ours: half of that.
 */
import { paths } from "../packages/api/src/paths.ts"
import { figure, type Bench } from "./figure.ts"
import { inTurnOver } from "./latencies.ts"
import { SearchedPosts, sendAll } from "./searched-posts.ts"
import { startBare, startSluice } from "./servers.ts"

const postCount = 100_000
const idsOfRequest = 100
const extent = { rounds: 5, seconds: 3, warmUpSeconds: 5, connections: 16 }

/** Prints the figures of look-ups. */
export const lookup: Bench = async (print) => {
  await using sluice = await startSluice()
  const posts = new SearchedPosts({ count: postCount, endMs: Date.now() })
  await sendAll(sluice, posts)
  const headers = { Authorization: `Bearer ${sluice.token}` }
  const lookups = {
    posts: `${paths.postsById}?ids=${posts.someIds(idsOfRequest).join(",")}`,
    names: `${paths.usersBy}?usernames=${posts.someUsernames(idsOfRequest).join(",")}`,
  }
  for (const [name, path] of Object.entries(lookups)) {
    const body = await (await fetch(sluice.url + path, { headers })).text()
    const { data, errors } = JSON.parse(body) as { data: readonly unknown[]; errors?: unknown }
    if (data.length !== idsOfRequest || errors !== undefined) throw new Error(`not all ${name} were found: ${body}`)
    await using bare = await startBare("node-bytes", body)
    const seen = await inTurnOver(
      { sluice: { port: sluice.port, path, headers }, bare: { port: bare.port, path: "/" } },
      extent,
    )
    print(
      figure(
        {
          name: `lookup-${name}`,
          value: seen.sluice.perSecond,
          unit: "requests/s",
          limit: seen.bare.perSecond,
          limitIs: "the same bytes from bare node:http",
        },
        { atLeast: 0.5 },
      ),
    )
    print(
      figure({
        name: `lookup-${name}-p99`,
        value: seen.sluice.p99,
        unit: "ms",
        limit: seen.bare.p99,
        limitIs: "the same bytes from bare node:http",
      }),
    )
  }
}
