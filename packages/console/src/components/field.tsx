import { useId, type ComponentProps, type ReactNode } from "react"
import styles from "./field.module.css"

/** Attributes that connect a control with its field; spread over the `input`, `select` or `textarea`. */
interface ControlAttributes {
  readonly id: string
  readonly className: string
  readonly "aria-describedby"?: string
  readonly "aria-invalid"?: true
}

/** A form field: label, control, hint and error. The error replaces the hint, so that the layout does not change. */
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

/** A field with one line of text. Other attributes go to the `input`. */
export function TextField({
  label,
  hint,
  error,
  onChange,
  ...input
}: Omit<ComponentProps<"input">, "onChange"> & {
  readonly label: string
  readonly hint?: string
  readonly error?: string
  readonly value: string
  readonly onChange: (value: string) => void
}): ReactNode {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input autoComplete="off" {...input} {...control} onChange={({ target }) => onChange(target.value)} />
      )}
    </Field>
  )
}

/** A labelled choice of one of several values; `options` are pairs of a value and its text. */
export function SelectField<Value extends string>({
  label,
  error,
  value,
  options,
  onChange,
}: {
  readonly label: string
  readonly error?: string | undefined
  readonly value: Value
  readonly options: readonly (readonly [value: Value, text: string])[]
  readonly onChange: (value: Value) => void
}): ReactNode {
  return (
    <Field label={label} error={error}>
      {(control) => (
        <select {...control} value={value} onChange={({ target }) => onChange(target.value as Value)}>
          {options.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
