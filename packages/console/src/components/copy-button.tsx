import { useState, type ReactNode } from "react"
import { Button } from "./button.tsx"
import { Icon } from "./icon.tsx"
import { VisuallyHidden } from "./visually-hidden.tsx"
import { copyText } from "./copy-text.ts"

const shownMs = 1_500

/** Copies a text. `what` completes the accessible name: "Copy the token". */
export function CopyButton({
  text,
  what,
  label = "Copy",
}: {
  readonly text: string
  readonly what: string
  readonly label?: string
}): ReactNode {
  const [state, setState] = useState<"ready" | "copied" | "failed">("ready")
  const copy = async (): Promise<void> => {
    setState((await copyText(text)) ? "copied" : "failed")
    setTimeout(() => setState("ready"), shownMs)
  }
  const shown = state === "copied" ? "Copied" : state === "failed" ? "Not allowed" : label
  return (
    <Button size="small" aria-label={`Copy ${what}`} onClick={() => void copy()}>
      <Icon name={state === "copied" ? "check" : "copy"} size={14} />
      <span>{shown}</span>
      <VisuallyHidden isStatus>{state === "ready" ? "" : shown}</VisuallyHidden>
    </Button>
  )
}
