import type { ReactNode } from "react"
import { useApi } from "../api/use-api.ts"
import { useSession } from "../api/session.ts"
import styles from "./app-switch.module.css"

/** The operator's choice of an app, or of all apps. */
export function AppSwitch(): ReactNode {
  const { appId, chooseApp } = useSession()
  const apps = useApi("apps")
  const active = apps.data?.data.filter(({ revoked }) => !revoked)
  const isKnown = active === undefined || appId === undefined || active.some(({ id }) => id === appId)
  return (
    <label className={styles["appSwitch"]}>
      <span>App</span>
      <select
        value={isKnown ? (appId ?? "") : ""}
        onChange={({ target }) => chooseApp(target.value === "" ? undefined : target.value)}
      >
        <option value="">All apps</option>
        {active?.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
