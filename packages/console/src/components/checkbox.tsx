import type { ReactNode } from "react"
import styles from "./checkbox.module.css"

/** A checkbox with its label. */
export function Checkbox({
  isChecked,
  onChange,
  children,
}: {
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
  readonly children: ReactNode
}): ReactNode {
  return (
    <label className={styles["label"]}>
      <input type="checkbox" checked={isChecked} onChange={({ target }) => onChange(target.checked)} />
      {children}
    </label>
  )
}
