/** A source of acknowledged messages that is paused and resumed over all processes, by its row in the store. */
import type { Clock } from "../runtime/clock.ts"
import type { SourceReads } from "../store/port/source-store.ts"
import type { ChangeSource } from "../store/store.ts"
import type { Source } from "./source.ts"
import { watchSteering } from "./steering.ts"

/** Dependencies of a source that can be paused. */
export interface PausableDeps {
  readonly store: Pick<SourceReads, "sources"> & ChangeSource
  readonly clock: Clock
}

/** Runs `source` while it is not paused. When the store cannot say, it stays as it was. */
export function pausable(name: string, source: Source, { store, clock }: PausableDeps): Source {
  const isPaused = async (before: boolean): Promise<boolean> => {
    const sources = await store.sources().catch(() => undefined)
    return sources === undefined ? before : sources.some((one) => one.name === name && one.isPaused)
  }
  return {
    async run(signal) {
      let paused = await isPaused(false)
      while (!signal.aborted) {
        const turn = new AbortController()
        const either = AbortSignal.any([signal, turn.signal])
        const watching = watchSteering({ store, clock }, either, async () => {
          const now = await isPaused(paused)
          if (now === paused) return
          paused = now
          turn.abort()
        })
        await Promise.all([paused ? undefined : source.run(either), watching])
      }
    },
  }
}
