/** The cache of what the API returned, and what becomes of errors. */
import { ApiError } from "@sluice/client"
import { QueryCache, QueryClient } from "@tanstack/react-query"

const sessionEndedListeners = new Set<() => void>()

/** Calls `listener` when the server no longer knows the session; the returned function ends that. */
export function onSessionEnded(listener: () => void): () => void {
  sessionEndedListeners.add(listener)
  return () => sessionEndedListeners.delete(listener)
}

/** Notes that a request failed; one that failed with 401 ends the session. */
function noteFailure(error: unknown): void {
  if (!(error instanceof ApiError) || error.status !== 401) return
  for (const listener of sessionEndedListeners) listener()
}

/** One for the page. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noteFailure }),
  defaultOptions: {
    queries: {
      retry: (failures, error) => failures < 2 && error instanceof ApiError && error.isTransient,
      staleTime: 2_000,
      refetchOnWindowFocus: true,
    },
    // A change that was made while the server was gone must not be sent when it is back and the reader has gone on.
    mutations: { onError: noteFailure, networkMode: "always" },
  },
})
