import type { ReactNode } from "react"
import { SelectField } from "../../components/field.tsx"
import { TimeField } from "../../components/time-field.tsx"
import { sinceInstant, type Since } from "./since.ts"

/** The choice of a time since which stored posts count. `options` name the kinds of it. */
export function SinceFields({
  label,
  options,
  since,
  endMs,
  error,
  onChange,
}: {
  readonly label: string
  readonly options: readonly (readonly [kind: Since["kind"], text: string])[]
  readonly since: Since
  /** The time before which a chosen length lies, Unix ms. */
  readonly endMs: () => number
  readonly error: string | undefined
  readonly onChange: (since: Since) => void
}): ReactNode {
  return (
    <>
      <SelectField
        label={label}
        value={since.kind}
        options={options}
        error={since.kind === "custom" ? undefined : error}
        onChange={(kind) =>
          // A time of one's own begins with the one that was chosen.
          onChange(kind === "custom" ? { kind, from: sinceInstant(since, endMs()) ?? "" } : { kind })
        }
      />
      {since.kind === "custom" && (
        <TimeField
          label="From"
          value={since.from}
          error={error}
          onChange={(from) => onChange({ kind: "custom", from })}
        />
      )}
    </>
  )
}
