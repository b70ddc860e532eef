/** `sluice counts`: counts the stored posts that a query matches, by intervals. */
import type { Operations } from "@sluice/client"
import { Option, type Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { sparkline } from "../terminal/sparkline.ts"
import { counted, shortInstant, table } from "../terminal/table.ts"
import type { CommandContext } from "../terminal/terminal.ts"
import { withSpanOptions, type SpanOptions } from "./search-span.ts"

type Interval = Operations["countsAll"]["GET"]["response"]["data"][number]

interface CountsOptions extends ClientOptions, SpanOptions {
  readonly granularity: string
}

/** The command's options and action. */
export function countsCommand(command: Command, { terminal, environment }: CommandContext): void {
  withSpanOptions(withConnectionOptions(command))
    .argument("<query>", "A rule, with the operators of search")
    .addOption(
      new Option("--granularity <interval>", "Length of an interval")
        .choices(["minute", "hour", "day"])
        .default("hour"),
    )
    .option("--json", "Print one line of JSON for each interval")
    .action(async (value: string, { all, granularity, since, until, json, ...connection }: CountsOptions) => {
      const client = await connect(connection, environment)
      const query = { query: value, granularity, start_time: since, end_time: until }
      // The newest page comes first, and each ascends.
      const pages: Interval[][] = []
      for await (const page of client.pages(all === true ? "countsAll" : "countsRecent", { query }))
        pages.unshift(page.data)
      const intervals = pages.flat()
      if (json === true) {
        for (const interval of intervals) await terminal.printJson(interval)
        return
      }
      const counts = intervals.map((interval) => interval.tweet_count)
      const rows = intervals
        .filter((interval) => interval.tweet_count > 0)
        .map(({ start, end, tweet_count }) => [shortInstant(start), shortInstant(end), String(tweet_count)])
      if (rows.length > 0)
        for (const line of table(["FROM", "TO", "POSTS"], rows, terminal.columns)) await terminal.print(line)
      await terminal.print(sparkline(counts, terminal.columns))
      const [first] = intervals
      if (all === true && since === undefined && first !== undefined) {
        terminal.note(`Counted from ${shortInstant(first.start)} on: use --since for older posts.`)
      }
      const total = counts.reduce((sum, count) => sum + count, 0)
      await terminal.print(counted(total, "post"))
    })
}
