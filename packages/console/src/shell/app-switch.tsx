import { useEffect, type ReactNode } from "react"
import { useApi } from "../api/use-api.ts"
import { useSession } from "../api/session.ts"
import styles from "./app-switch.module.css"

/** The operator's choice of an app, or of all apps. Forgets an app that is revoked, or that this server does not have. */
export function AppSwitch(): ReactNode {
  const { appId, chooseApp } = useSession()
  const apps = useApi("apps")
  const active = apps.data?.data.filter(({ revoked }) => !revoked)
  const isGone = appId !== undefined && active?.some(({ id }) => id === appId) === false
  useEffect(() => {
    if (isGone) chooseApp(undefined)
  }, [isGone, chooseApp])
  return (
    <label className={styles["appSwitch"]}>
      <span>App</span>
      <select value={appId ?? ""} onChange={({ target }) => chooseApp(target.value === "" ? undefined : target.value)}>
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
