import type { ReactNode } from "react"
import { TextField } from "./field.tsx"
import { instantOf, localText } from "./local-time.ts"

/** A local date and time, to the second. A time that is not touched keeps its milliseconds. */
export function TimeField({
  label,
  value,
  error,
  onChange,
}: {
  readonly label: string
  /** An instant as the API takes it; empty where there is none. */
  readonly value: string
  readonly error: string | undefined
  readonly onChange: (instant: string) => void
}): ReactNode {
  return (
    <TextField
      type="datetime-local"
      step={1}
      label={label}
      {...(error !== undefined && { error })}
      value={localText(value)}
      onChange={(local) => onChange(instantOf(local))}
    />
  )
}
