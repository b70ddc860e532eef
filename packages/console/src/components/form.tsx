import type { ReactNode } from "react"
import { Stack } from "./stack.tsx"

/** A change that a form sends. */
export interface FormChange {
  readonly isPending: boolean
  readonly error: unknown
}

/** A form whose fields stand below each other. It never reloads the page. */
export function Form({
  id,
  onSubmit,
  children,
}: {
  readonly id?: string
  readonly onSubmit: () => void
  readonly children: ReactNode
}): ReactNode {
  return (
    <form
      id={id}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      <Stack>{children}</Stack>
    </form>
  )
}
