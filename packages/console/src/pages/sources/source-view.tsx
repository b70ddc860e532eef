/** One source: its state, the changes to it, its gaps and its dead letters. */
import type { Source } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { Button } from "../../components/button.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import { PageHeader } from "../../components/page-header.tsx"
import { ErrorNote, ErrorState, PageSkeleton } from "../../components/states.tsx"
import { ViewTop } from "../../components/view-top.tsx"
import { Gaps } from "./gaps.tsx"
import { RewindSource } from "./rewind-source.tsx"
import { DeadLetters } from "./dead-letters.tsx"
import { SourceSummary } from "./source-summary.tsx"
import { SourceTroubles } from "./source-troubles.tsx"

const refetchMs = 2_000

/** Operations whose responses change with a source. */
const changed = ["source", "sources"] as const

/** The view of a source. */
export function SourceView({ name }: { readonly name: string }): ReactNode {
  const [isPaused, setIsPaused] = useState(false)
  const query = useApi("source", { parameters: { name } }, { refetchMs, isPaused })
  if (query.isPending) return <PageSkeleton />
  return (
    <>
      <ViewTop list="Sources" isPaused={isPaused} onChange={setIsPaused} />
      {query.data === undefined ? (
        <ErrorState isPage of={query} />
      ) : (
        <SourceShown source={query.data.data} isPaused={isPaused} />
      )}
    </>
  )
}

function SourceShown({ source, isPaused }: { readonly source: Source; readonly isPaused: boolean }): ReactNode {
  const { name, activity } = source
  const [isRewinding, setIsRewinding] = useState(false)
  const toast = useToast()
  const pause = useApiChange("POST", "pauseSource", { invalidates: changed })
  const resume = useApiChange("POST", "resumeSource", { invalidates: changed })
  const parameters = { name }
  return (
    <>
      <PageHeader
        title={name}
        actions={
          <>
            {activity === "paused" ? (
              <Button
                kind="primary"
                isBusy={resume.isPending}
                onClick={() => resume.mutate({ parameters }, { onSuccess: () => toast(`Resumed ${name}.`) })}
              >
                Resume
              </Button>
            ) : (
              <Button
                isBusy={pause.isPending}
                onClick={() => pause.mutate({ parameters }, { onSuccess: () => toast(`Paused ${name}.`) })}
              >
                Pause
              </Button>
            )}
            {source.can_rewind && <Button onClick={() => setIsRewinding(true)}>Rewind …</Button>}
          </>
        }
      />
      <ErrorNote error={pause.error ?? resume.error} />
      <SourceTroubles source={source} />
      <SourceSummary source={source} />
      <Gaps gaps={source.gaps} />
      <DeadLetters source={source} isPaused={isPaused} />
      {isRewinding && <RewindSource name={name} changes={changed} onClose={() => setIsRewinding(false)} />}
    </>
  )
}
