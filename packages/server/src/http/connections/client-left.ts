import type { ServerResponse } from "node:http"
import { tooManyRequests } from "../../model/problem.ts"

/** One for all, since an error of its own for each response would record where it was made. */
const hasLeft = tooManyRequests("The client has left.")

/**
 * Aborts when a client has received the response, or has left: also when it left before this call, while its request waited
 * or was authenticated. The reason is a problem that no client receives.
 */
export function clientLeft(response: ServerResponse): AbortSignal {
  const left = new AbortController()
  const leave = (): void => left.abort(hasLeft)
  if (response.destroyed) leave()
  else response.once("close", leave)
  return left.signal
}

/** Calls `release` when the signal aborts, at once when it has. */
export function releaseWhen(left: AbortSignal, release: () => void): void {
  if (left.aborted) release()
  else left.addEventListener("abort", release, { once: true })
}
