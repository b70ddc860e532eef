import type { Source } from "@sluice/api"
import type { ReactNode } from "react"
import { Badge } from "../../components/badge.tsx"
import { nounText } from "../../components/counts.ts"
import { Stack } from "../../components/stack.tsx"

const tones = { running: "good", connecting: "warning", paused: "neutral", elsewhere: "neutral" } as const

/** The state of a source in one word, and whether it fails or has notices. */
export function SourceState({ source }: { readonly source: Source }): ReactNode {
  const { activity, notices } = source
  return (
    <Stack isRow>
      {currentError(source) !== undefined && <Badge tone="bad">error</Badge>}
      <Badge tone={tones[activity as keyof typeof tones]}>{activity}</Badge>
      {notices.length > 0 && <Badge tone="warning">{nounText(notices.length, "notice")}</Badge>}
    </Stack>
  )
}

/** An error that still holds: the source takes no records since. */
export function currentError({ activity, last_error: error }: Source): Source["last_error"] {
  return activity === "connecting" ? error : undefined
}
