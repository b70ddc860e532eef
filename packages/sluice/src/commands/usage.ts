/** `sluice usage`: how many posts the app got, by day. */
import type { Operations } from "@sluice/client"
import type { Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { sparkline } from "../terminal/sparkline.ts"
import { counted, table } from "../terminal/table.ts"
import type { CommandContext } from "../terminal/terminal.ts"
import { numberMatching } from "./option-values.ts"

type Usage = Operations["usage"]["GET"]["response"]["data"]

interface UsageOptions extends ClientOptions {
  readonly days: number
}

const dayMs = 86_400_000

/** The command's options and action. */
export function usageCommand(command: Command, { terminal, environment }: CommandContext): void {
  withConnectionOptions(command)
    .option("--days <count>", "Number of days, today among them, 1 to 90", daysOption, 7)
    .option("--json", "Print the usage as JSON")
    .action(async ({ days, json, ...connection }: UsageOptions) => {
      const client = await connect(connection, environment)
      const fields = ["cap_reset_day", "daily_project_usage", "project_cap", "project_id", "project_usage"] as const
      const { data } = await client.usage.get({ days, "usage.fields": fields })
      if (json === true) return terminal.printJson(data)
      const byDay = usageByDay(data, days)
      const rows = byDay.map(({ date, posts }) => [date, String(posts)])
      for (const line of table(["DAY (UTC)", "POSTS"], rows, terminal.columns)) await terminal.print(line)
      const posts = byDay.map((day) => day.posts)
      await terminal.print(sparkline(posts, terminal.columns))
      await terminal.print(monthText(data))
    })
}

/** Each day until today, those without posts too, oldest first. */
function usageByDay({ daily_project_usage: daily }: Usage, days: number): readonly { date: string; posts: number }[] {
  const counts = new Map(daily?.usage?.map(({ date, usage }) => [date.slice(0, 10), Number(usage)]))
  const today = Math.floor(Date.now() / dayMs)
  return Array.from({ length: days }, (_, at) => {
    const date = new Date((today - days + 1 + at) * dayMs).toISOString().slice(0, 10)
    return { date, posts: counts.get(date) ?? 0 }
  })
}

function monthText({ project_usage: usage = "0", project_cap: cap, cap_reset_day: day = 1 }: Usage): string {
  const until = cap === undefined ? "no cap" : `at most ${cap}`
  return `${counted(Number(usage), "post")} since day ${String(day)} of the month (${until})`
}

const daysOption = numberMatching(/^([1-9]|[1-8][0-9]|90)$/, "a number of days from 1 to 90")
