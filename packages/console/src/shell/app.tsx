/** The console: the sign-in page, or the layout with the current page. */
import { ApiError } from "@sluice/client"
import { useQueryClient } from "@tanstack/react-query"
import { useCallback, useEffect, useMemo, useState, type ReactNode } from "react"
import { checkConnection, connected, watchConnection } from "../api/connection.ts"
import { onSessionEnded } from "../api/query-client.ts"
import { SessionContext, sessionClient, type Session, type SessionData } from "../api/session.ts"
import { ErrorState } from "../components/states.tsx"
import { Layout } from "./layout.tsx"
import { Routes } from "./routes.tsx"
import { SignIn } from "./sign-in.tsx"
import { remember, remembered } from "./theme.ts"

const appKey = "sluice.app"

type State =
  | { readonly kind: "asking" }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "signed out"; readonly hasEnded: boolean }
  | { readonly kind: "signed in"; readonly data: SessionData }

/** The whole console. */
export function App(): ReactNode {
  const [state, setState] = useState<State>({ kind: "asking" })
  const ask = useCallback(async (): Promise<void> => {
    try {
      const { data } = await sessionClient(undefined, undefined).request("GET", "session")
      setState({ kind: "signed in", data })
    } catch (error) {
      const isSignedOut = error instanceof ApiError && error.status === 401
      setState(isSignedOut ? { kind: "signed out", hasEnded: false } : { kind: "failed", error })
    }
  }, [])
  useEffect(() => {
    // A sign-in link starts a new session, even if one exists.
    if (location.hash.startsWith("#code=")) setState({ kind: "signed out", hasEnded: false })
    else void ask()
  }, [ask])
  useEffect(watchConnection, [])
  const hasFailed = state.kind === "failed"
  useEffect(() => {
    if (hasFailed) void connected().then(ask)
  }, [hasFailed, ask])
  useEffect(() => onSessionEnded(() => setState({ kind: "signed out", hasEnded: true })), [])

  switch (state.kind) {
    case "asking":
      return null
    case "failed":
      return <ErrorState isPage of={{ error: state.error, refetch: ask }} />
    case "signed out":
      return <SignIn hasEnded={state.hasEnded} onSignedIn={(data) => setState({ kind: "signed in", data })} />
    case "signed in":
      return (
        <SignedIn data={state.data} onSignedOut={() => setState({ kind: "signed out", hasEnded: false })}>
          <Layout>
            <Routes />
          </Layout>
        </SignedIn>
      )
  }
}

/** No response of the server itself: none at all, or one of a proxy that does not reach it. */
function isUnanswered({ kind, status }: ApiError): boolean {
  return kind === "connection" || status === 502 || status === 504
}

function SignedIn({
  data,
  onSignedOut,
  children,
}: {
  readonly data: SessionData
  readonly onSignedOut: () => void
  readonly children: ReactNode
}): ReactNode {
  const queryClient = useQueryClient()
  const [chosenApp, setChosenApp] = useState(() => remembered(appKey))
  const appId = data.kind === "operator" ? chosenApp : undefined
  const session = useMemo<Session>(() => {
    const client = sessionClient(data.csrf_token, appId)
    return {
      ...data,
      client,
      appId: data.application?.id ?? appId,
      chooseApp(next) {
        remember(appKey, next)
        setChosenApp(next)
      },
      signOut() {
        void (async () => {
          try {
            await sessionClient(data.csrf_token, undefined).request("DELETE", "session")
          } catch (error) {
            // The server takes the cookie away with every response of its own. Without one the session goes on, as the banner says.
            if (error instanceof ApiError && isUnanswered(error)) return void checkConnection()
          }
          queryClient.clear()
          onSignedOut()
        })()
      },
    }
  }, [data, appId, queryClient, onSignedOut])
  // The cache must not pass to another session.
  useEffect(() => () => queryClient.clear(), [queryClient])
  return <SessionContext value={session}>{children}</SessionContext>
}
