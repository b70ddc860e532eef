import type { ReactNode } from "react"
import { Button } from "./button.tsx"
import styles from "./choice.module.css"

/** A choice of one of a few values, as buttons. */
export function Choice<Value extends string>({
  label,
  options,
  value,
  onChange,
}: {
  readonly label: string
  readonly options: Readonly<Record<Value, string>>
  readonly value: Value
  readonly onChange: (value: Value) => void
}): ReactNode {
  return (
    <div className={styles["filters"]} role="group" aria-label={label}>
      {(Object.keys(options) as Value[]).map((one) => (
        <Button key={one} size="small" aria-pressed={one === value} onClick={() => onChange(one)}>
          {options[one]}
        </Button>
      ))}
    </div>
  )
}
