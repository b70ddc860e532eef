import type { ReactNode } from "react"
import { Button } from "./button.tsx"
import { Icon } from "./icon.tsx"

/** Stops and resumes live updates. The page keeps whether they are paused. */
export function PauseButton({
  isPaused,
  onChange,
  label = "Live updates",
}: {
  readonly isPaused: boolean
  readonly onChange: (isPaused: boolean) => void
  readonly label?: string
}): ReactNode {
  return (
    <Button aria-label={`${isPaused ? "Resume" : "Pause"}: ${label}`} onClick={() => onChange(!isPaused)}>
      <Icon name={isPaused ? "play" : "pause"} size={14} />
      {isPaused ? "Resume" : "Pause"}
    </Button>
  )
}
