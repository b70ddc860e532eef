import { useState, type ReactNode } from "react"
import { Button } from "./button.tsx"
import { Icon } from "./icon.tsx"

const shownMs = 1_500

/** Copies a text. `what` completes the name: "Copy the token". With `isIcon` the name shows to screen readers only. */
export function CopyButton({
  text,
  what,
  label = "Copy",
  isIcon = false,
}: {
  readonly text: string
  readonly what: string
  readonly label?: string
  readonly isIcon?: boolean
}): ReactNode {
  const [state, setState] = useState<"ready" | "copied" | "failed">("ready")
  const copy = async (): Promise<void> => {
    setState(
      await navigator.clipboard.writeText(text).then(
        () => "copied" as const,
        () => "failed" as const,
      ),
    )
    setTimeout(() => setState("ready"), shownMs)
  }
  const shown = state === "copied" ? "Copied" : state === "failed" ? "Not allowed" : label
  return (
    <Button size="small" kind={isIcon ? "quiet" : "plain"} aria-label={`Copy ${what}`} onClick={() => void copy()}>
      <Icon name={state === "copied" ? "check" : "copy"} size={14} />
      {!isIcon && <span>{shown}</span>}
      <span role="status" className="visually-hidden">
        {state === "ready" ? "" : shown}
      </span>
    </Button>
  )
}
