import { useId, type ReactNode } from "react"
import styles from "./field.module.css"

/** What a control needs to belong to its field; spread over the `input`, `select` or `textarea`. */
interface ControlAttributes {
  readonly id: string
  readonly className: string
  readonly "aria-describedby"?: string
  readonly "aria-invalid"?: true
}

/** A form field: label, control, hint and error. The error takes the place of the hint, so that nothing moves. */
export function Field({
  label,
  hint,
  error,
  children,
}: {
  readonly label: ReactNode
  readonly hint?: ReactNode
  readonly error?: ReactNode
  readonly children: (attributes: ControlAttributes) => ReactNode
}): ReactNode {
  const id = useId()
  const note = error ?? hint
  return (
    <div className={styles["field"]}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        className: styles["control"] ?? "",
        ...(note !== undefined && { "aria-describedby": `${id}-note` }),
        ...(error !== undefined && { "aria-invalid": true }),
      })}
      {note !== undefined && (
        <p
          id={`${id}-note`}
          className={error === undefined ? styles["hint"] : styles["error"]}
          role={error === undefined ? undefined : "alert"}
        >
          {note}
        </p>
      )}
    </div>
  )
}
