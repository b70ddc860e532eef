import { Failure } from "./failure.ts"
import { watchStarter } from "./starter.ts"

/**
 * A second signal within this time is treated as an echo of the first: Ctrl-C reaches both the command and `npm`, which
 * forwards it. Ours.
 */
const echoMsMax = 500

/**
 * Aborted by the first SIGINT or SIGTERM, so that the command can end cleanly; a second one ends the process at once. All
 * callers get the same signal.
 */
export function interruption(): AbortSignal {
  listened ??= listen()
  return listened
}

/** The same for a command that is to end with the program that started it. */
export function interruptionOrOrphaned({ isOfNpm }: { readonly isOfNpm: boolean }): AbortSignal {
  const interrupted = interruption()
  if (!isOfNpm) return interrupted
  const orphaned = new AbortController()
  watchStarter(() => orphaned.abort(new Failure("The program that started this one has ended.")))
  return AbortSignal.any([interrupted, orphaned.signal])
}

let listened: AbortSignal | undefined

function listen(): AbortSignal {
  const controller = new AbortController()
  let firstAtMs: number | undefined
  const onSignal = (name: NodeJS.Signals): void => {
    const nowMs = performance.now()
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
