import { monotonicMs } from "./clock.ts"
import { Failure } from "./failure.ts"

/**
 * A second signal sooner than this is taken for an echo of the first: Ctrl-C in a terminal reaches the command
 * itself and `npm`, which passes it on. Ours.
 */
const echoMsMax = 500

/**
 * Aborted by the first SIGINT or SIGTERM, so that work under way can end well. A second one ends the process at
 * once, as if nothing had listened. Call it once.
 */
export function interruption(): AbortSignal {
  const controller = new AbortController()
  let firstAtMs: number | undefined
  const onSignal = (name: NodeJS.Signals): void => {
    const nowMs = monotonicMs()
    if (firstAtMs === undefined) {
      firstAtMs = nowMs
      controller.abort(new Failure(`Interrupted by ${name}.`))
    } else if (nowMs - firstAtMs > echoMsMax) {
      process.off("SIGINT", onSignal).off("SIGTERM", onSignal)
      process.kill(process.pid, name)
    }
  }
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal)
  return controller.signal
}

/** Resolves when the signal is aborted. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true })
  })
}
