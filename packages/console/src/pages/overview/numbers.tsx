import type { OverviewBody } from "@sluice/api"
import type { ReactNode } from "react"
import { Link } from "wouter"
import { rateScale } from "../../components/charts/scales.ts"
import { countText } from "../../components/counts.ts"
import { Skeleton } from "../../components/states.tsx"
import styles from "./numbers.module.css"

type Data = OverviewBody["data"]

/** Rates of the last minute, and counts. */
export function Numbers({ data }: { readonly data: Data | undefined }): ReactNode {
  const recent = (values: readonly number[]): string => {
    const minute = values.slice(-6)
    const mean = minute.reduce((sum, value) => sum + value, 0) / Math.max(minute.length, 1)
    return rateScale.format(mean)
  }
  const numbers: readonly (readonly [string, string, string, (data: Data) => string])[] = [
    ["Posts", "per second", "/live", ({ activity }) => recent(activity.posts_per_second)],
    ["Matches", "per second", "/live", ({ activity }) => recent(activity.matches_per_second)],
    ["Delivered", "per second", "/webhooks", ({ activity }) => recent(activity.deliveries_per_second)],
    ["Lag", "matches", "/webhooks", ({ activity }) => countText(activity.lag.at(-1) ?? 0)],
    ["Rules", "in use", "/rules", ({ counts }) => countText(counts.rules)],
    ["Links", "of webhooks", "/webhooks", ({ counts }) => countText(counts.links)],
  ]
  return (
    <ul className={styles["numbers"]}>
      {numbers.map(([title, unit, path, text]) => (
        <li key={title}>
          <Link href={path}>
            <span className={styles["numberTitle"]}>{title}</span>
            <span className={styles["number"]}>{data === undefined ? <Skeleton width="48px" /> : text(data)}</span>
            <span className={styles["unit"]}>{unit}</span>
          </Link>
        </li>
      ))}
    </ul>
  )
}
