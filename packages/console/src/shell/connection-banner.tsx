import type { ReactNode } from "react"
import { useConnectionLostAt } from "../api/connection.ts"
import { Icon } from "../components/icon.tsx"
import styles from "./connection-banner.module.css"

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" })

/** Shows on every page, for as long as the server does not respond. What the page shows then is of before. */
export function ConnectionBanner(): ReactNode {
  const lostAtMs = useConnectionLostAt()
  if (lostAtMs === undefined) return null
  return (
    <p className={styles["banner"]} role="alert">
      <Icon name="alert" />
      <span>
        No connection since <time dateTime={new Date(lostAtMs).toISOString()}>{clock.format(lostAtMs)}</time>, trying
        again. The page shows what was known before.
      </span>
    </p>
  )
}
