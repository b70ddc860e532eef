import type { OverviewBody } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useSession } from "../../api/session.ts"
import { useApi } from "../../api/use-api.ts"
import { AutoRefresh } from "../../components/auto-refresh.tsx"
import { Chart, type Series } from "../../components/charts/chart.tsx"
import { PageHeader } from "../../components/page-header.tsx"
import { countScale, durationScale, rateScale } from "../../components/charts/scales.ts"
import { Panel } from "../../components/panel.tsx"
import { ErrorState } from "../../components/states.tsx"
import { AppUsage } from "../../components/usage/app-usage.tsx"
import { FirstSteps } from "./first-steps.tsx"
import { Numbers } from "./numbers.tsx"
import styles from "./page.module.css"
import { Problems } from "./problems.tsx"

/** Half a step of the charts, which keeps their end close to now. */
const refetchMs = 5_000

/** Posts, matches and deliveries of the last hour, and current problems. */
export default function OverviewPage(): ReactNode {
  const { kind, appId, application } = useSession()
  const [isPaused, setPaused] = useState(false)
  const overview = useApi("overview", {}, { refetchMs, isPaused, keepPrevious: true })
  const data = overview.data?.data
  const what = kind === "operator" && appId === undefined ? "all apps" : (application?.name ?? "this app")
  if (overview.isLoadingError) {
    return <ErrorState isPage of={overview} />
  }
  return (
    <div>
      <PageHeader title="Overview" actions={<AutoRefresh isPaused={isPaused} onChange={setPaused} />}>
        The last hour of <span>{what}</span>, in steps of ten seconds.
      </PageHeader>
      <div className={styles["stack"]}>
        {overview.isRefetchError && <p className={styles["stale"]}>Not updated: {overview.error.message}</p>}
        {data !== undefined && <FirstSteps counts={data.counts} />}
        <Numbers data={data} />
        <Problems data={data} />
        <Charts activity={data?.activity} />
        {what !== "all apps" && (
          <Panel title="Usage and limits">
            <AppUsage />
          </Panel>
        )}
      </div>
    </div>
  )
}

type Activity = OverviewBody["data"]["activity"]

function Charts({ activity }: { readonly activity: Activity | undefined }): ReactNode {
  const { times, values } = series(activity)
  const rates: readonly Series[] = [
    { label: "Posts", colour: 1, values: values("posts_per_second") },
    { label: "Matches", colour: 2, values: values("matches_per_second") },
  ]
  const deliveries: readonly Series[] = [
    { label: "Delivered", colour: 2, values: values("deliveries_per_second") },
    { label: "Failed attempts", colour: 4, values: values("failures_per_second") },
  ]
  return (
    <div className={styles["charts"]}>
      <Chart title="Posts and matches per second" times={times} series={rates} scale={rateScale} />
      <Chart title="Deliveries per second" times={times} series={deliveries} scale={rateScale} />
      <Chart
        title="Lag: undelivered matches"
        times={times}
        series={[{ label: "Matches", colour: 3, values: values("lag") }]}
        scale={countScale}
      />
      <Chart
        title="Oldest undelivered match"
        times={times}
        series={[{ label: "Age", colour: 3, values: values("oldest_undelivered_seconds") }]}
        scale={durationScale}
      />
    </div>
  )
}

/** The instants of the last hour, and the value at each: null before the server started. */
function series(activity: Activity | undefined): {
  readonly times: readonly number[]
  readonly values: (name: (keyof Activity & `${string}_${string}`) | "lag") => readonly (number | null)[]
} {
  const stepMs = (activity?.step_seconds ?? 10) * 1000
  const untilMs = activity === undefined ? Date.now() : Date.parse(activity.until)
  const steps = 3_600_000 / stepMs
  const times = Array.from({ length: steps }, (_, index) => untilMs - (steps - 1 - index) * stepMs)
  return {
    times,
    values(name) {
      const known = (activity?.[name] as readonly number[] | undefined) ?? []
      return [...Array.from({ length: Math.max(0, steps - known.length) }, () => null), ...known]
    },
  }
}
