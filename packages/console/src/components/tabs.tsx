import { Tabs as BaseTabs } from "@base-ui/react/tabs"
import type { ReactNode } from "react"
import styles from "./tabs.module.css"

/** One of several views that share a place. */
interface Tab {
  readonly id: string
  readonly title: ReactNode
  readonly content: ReactNode
}

/** Several views, one of which is visible. The page holds `current`, so that it can be part of the address. */
export function Tabs({
  tabs,
  current,
  onChange,
  label,
}: {
  readonly tabs: readonly Tab[]
  readonly current: string
  readonly onChange: (id: string) => void
  readonly label: string
}): ReactNode {
  return (
    <BaseTabs.Root value={current} onValueChange={(value) => onChange(String(value))}>
      <BaseTabs.List className={styles["list"]} aria-label={label}>
        {tabs.map(({ id, title }) => (
          <BaseTabs.Tab key={id} value={id} className={styles["tab"]}>
            {title}
          </BaseTabs.Tab>
        ))}
      </BaseTabs.List>
      {tabs.map(({ id, content }) => (
        <BaseTabs.Panel key={id} value={id} className={styles["panel"]}>
          {content}
        </BaseTabs.Panel>
      ))}
    </BaseTabs.Root>
  )
}
