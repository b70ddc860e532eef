/** The cache of responses, and the handling of failed requests. */
import { ApiError } from "@sluice/client"
import { QueryCache, QueryClient } from "@tanstack/react-query"

const sessionEndedListeners = new Set<() => void>()

/** Calls `listener` when the session has ended on the server; the returned function removes it. */
export function onSessionEnded(listener: () => void): () => void {
  sessionEndedListeners.add(listener)
  return () => sessionEndedListeners.delete(listener)
}

/** Ends the session when a request fails with 401. */
function noteFailure(error: unknown): void {
  if (!(error instanceof ApiError) || error.status !== 401) return
  for (const listener of sessionEndedListeners) listener()
}

/** The cache of the page. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noteFailure }),
  defaultOptions: {
    queries: {
      retry: (failures, error) => failures < 2 && error instanceof ApiError && error.isTransient,
      staleTime: 2_000,
      refetchOnWindowFocus: true,
    },
    // A change made without a connection must fail at once, not be sent later, when the viewer has moved on.
    mutations: { onError: noteFailure, networkMode: "always" },
  },
})
