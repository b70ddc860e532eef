import type { ReactNode } from "react"
import { useConnectionLostAt } from "../api/connection.ts"
import { Icon } from "../components/icon.tsx"
import styles from "./connection-banner.module.css"

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" })

/** Shown on every page while the server does not respond. */
export function ConnectionBanner(): ReactNode {
  const lostAtMs = useConnectionLostAt()
  if (lostAtMs === undefined) return null
  return (
    <p className={styles["banner"]} role="alert">
      <Icon name="alert" />
      <span>
        No connection since <time dateTime={new Date(lostAtMs).toISOString()}>{clock.format(lostAtMs)}</time>. Trying
        again; until then, the page shows earlier data.
      </span>
    </p>
  )
}
