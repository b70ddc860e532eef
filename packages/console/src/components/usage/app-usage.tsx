/** The usage of an app by day, and the limits that hold for it. */
import type { AppLimitsBody, UsageBody } from "@sluice/api"
import type { ReactNode } from "react"
import { useApi } from "../../api/use-api.ts"
import { Chart } from "../charts/chart.tsx"
import { countScale } from "../charts/scales.ts"
import { countText, nounText } from "../counts.ts"
import { DataTable, type Column } from "../lists/data-table.tsx"
import { Stack } from "../stack.tsx"
import { ErrorState } from "../states.tsx"

type Usage = UsageBody["data"]
type Limits = AppLimitsBody["data"]

const dayMs = 86_400_000
const days = 30

const fields = ["cap_reset_day", "daily_project_usage", "project_cap", "project_usage"] as const

/** Without `appId`, of the app of the session. Usage is shown of 30 days. */
export function AppUsage({ appId }: { readonly appId?: string }): ReactNode {
  const headers = appId === undefined ? {} : { headers: { "sluice-app": appId } }
  const usage = useApi("usage", { query: { days, "usage.fields": fields }, ...headers })
  const limits = useApi("limits", headers)
  if (usage.isLoadingError) return <ErrorState of={usage} />
  if (limits.isLoadingError) return <ErrorState of={limits} />
  const { times, values } = byDay(usage.data?.data)
  return (
    <Stack>
      <Chart title="Posts per day" times={times} series={[{ label: "Posts", colour: 1, values }]} scale={countScale} />
      {usage.data !== undefined && <p>{monthText(usage.data.data)}</p>}
      <DataTable
        label="Limits"
        columns={columns}
        rows={limits.data && rowsOf(limits.data.data)}
        rowKey={({ name }) => name}
      />
    </Stack>
  )
}

/** The days until today as instants, and the posts of each. */
function byDay(usage: Usage | undefined): { readonly times: readonly number[]; readonly values: readonly number[] } {
  const counts = new Map(usage?.daily_project_usage?.usage?.map(({ date, usage: posts }) => [Date.parse(date), posts]))
  const today = Math.floor(Date.now() / dayMs) * dayMs
  const times = Array.from({ length: days }, (_, at) => today - (days - 1 - at) * dayMs)
  return { times, values: times.map((atMs) => Number(counts.get(atMs) ?? 0)) }
}

function monthText({ project_usage: posts = "0", project_cap: cap, cap_reset_day: day = 1 }: Usage): string {
  const bound = cap === undefined ? "without a cap" : `of at most ${countText(Number(cap))}`
  return `${nounText(Number(posts), "post")} since day ${day} of the month, ${bound}.`
}

interface Row {
  readonly name: string
  readonly value: string
}

const columns: readonly Column<Row>[] = [
  { id: "name", title: "Limit", cell: ({ name }) => name },
  { id: "value", title: "At most", cell: ({ value }) => value, align: "end" },
]

function rowsOf(limits: Limits): readonly Row[] {
  const bound = (value: number | undefined): string => (value === undefined ? "no bound" : countText(value))
  return [
    { name: "Rules", value: bound(limits.rules) },
    { name: "Characters of a rule", value: bound(limits.rule_characters) },
    { name: "Stream connections", value: bound(limits.connections) },
    { name: "Posts a second on a connection", value: bound(limits.posts_per_second) },
    { name: "Posts a month", value: bound(limits.posts_per_month) },
    ...(limits.has_credits ? [] : [{ name: "Credit", value: "none: requests get 402" }]),
    ...limits.requests.map(({ endpoint, per, limit, window_seconds: seconds }) => ({
      name: `${endpoint}, ${per === "app" ? "the app" : "each user"}, in ${spanText(seconds)}`,
      value: countText(limit),
    })),
  ]
}

function spanText(seconds: number): string {
  if (seconds >= 3_600) return nounText(seconds / 3_600, "hour")
  return seconds >= 60 ? nounText(seconds / 60, "minute") : nounText(seconds, "second")
}
