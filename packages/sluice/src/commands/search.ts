/** `sluice search`: prints the stored posts that a query matches, page by page. */
import { firstSnowflake } from "@sluice/api"
import type { Client } from "@sluice/client"
import type { Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { printPost } from "../terminal/post-line.ts"
import type { CommandContext } from "../terminal/terminal.ts"
import { terminalText } from "../terminal/terminal-text.ts"
import { numberMatching } from "./option-values.ts"
import { withSpanOptions, type SpanOptions } from "./search-span.ts"

interface SearchOptions extends ClientOptions, SpanOptions {
  readonly max: number
}

/** Sizes of a page that the server takes. Source: the route's schema. */
const [pageMin, pageMax] = [10, 100]

/** The command's options and action. */
export function searchCommand(command: Command, { terminal, environment }: CommandContext): void {
  withSpanOptions(withConnectionOptions(command))
    .argument("<query>", "A rule, with the operators of search")
    .option(
      "--max <count>",
      "Print at most this many posts",
      numberMatching(/^[1-9]\d{0,8}$/, "a whole number from 1"),
      10,
    )
    .option("--json", "Print one line of JSON for each post")
    .action(async (value: string, { all, max, since, until, json, ...connection }: SearchOptions) => {
      const client = await connect(connection, environment)
      const query = {
        query: value,
        max_results: Math.min(Math.max(max, pageMin), pageMax),
        start_time: since,
        end_time: until,
        "tweet.fields": "created_at",
      }
      let count = 0
      for await (const page of client.pages(all === true ? "searchAll" : "searchRecent", { query })) {
        const { data = [], errors = [], meta } = page
        for (const post of data.slice(0, max - count)) await printPost(post, json, terminal)
        for (const { detail } of errors) terminal.note(terminalText(detail, 200))
        const hasMore = data.length > max - count || meta?.next_token !== undefined
        count += Math.min(data.length, max - count)
        if (terminal.readerGone.aborted) return
        if (count < max) continue
        if (hasMore) terminal.note("There may be older posts: use --max.")
        return
      }
      if (count > 0) return
      terminal.note("No posts found.")
      if (all === true && since === undefined && until === undefined) return
      if (await isFoundWithoutTimes(client, value)) terminal.note(withoutTimes)
    })
}

const withoutTimes =
  "Posts match whose ids hold no time, since they are no snowflakes, and a search by time leaves them out: use --all."

/** Whether posts match that no search by time finds: a search reads the time from the id of a post. */
async function isFoundWithoutTimes(client: Client, query: string): Promise<boolean> {
  const { data = [] } = await client.posts.searchAll({ query, max_results: pageMin, until_id: String(firstSnowflake) })
  return data.length > 0
}
