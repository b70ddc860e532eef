import type { ReactNode } from "react"
import { Icon } from "../icon.tsx"
import styles from "./search-field.module.css"

/** The search of a list. `label` says what is searched; it stands in the empty field. */
export function SearchField({
  label,
  value,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}): ReactNode {
  return (
    <div className={styles["search"]}>
      <Icon name="search" size={14} />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    </div>
  )
}
