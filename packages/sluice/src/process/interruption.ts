import { Failure } from "./failure.ts"

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
