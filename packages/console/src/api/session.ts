/** Who is signed in, and the app that an operator looks at. One for the page; components read it with `useSession`. */
import { createClient, type Client } from "@sluice/client"
import type { SessionBody } from "@sluice/api"
import { createContext, useContext } from "react"
import { reportingFetch } from "./connection.ts"

/** The member `data` of the session's route. */
export type SessionData = SessionBody["data"]

/** What a signed-in page knows. */
export interface Session extends SessionData {
  /** Requests as the signed-in party: for its app, or for the app that the operator has chosen. */
  readonly client: Client
  /** The app that requests are for; absent for an operator who looks at all apps. */
  readonly appId: string | undefined
  /** Chooses the app that an operator acts for; `undefined` for all. */
  readonly chooseApp: (appId: string | undefined) => void
  readonly signOut: () => void
}

/** Provided by the shell to every page. */
export const SessionContext = createContext<Session | undefined>(undefined)

/** The session of the page. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error("a page stands outside of the shell")
  return session
}

/**
 * The value of the header `Sluice-CSRF` before the token is known. It proves that a page of this server asks, since no other
 * page can send the header, and `GET /sluice/v1/session` needs no more.
 */
const unknownCsrfToken = "unknown"

/** A client whose requests carry the session's CSRF token, and the app that an operator acts for. */
export function sessionClient(csrfToken: string | undefined, appId: string | undefined): Client {
  return createClient({
    url: location.origin,
    fetch: reportingFetch,
    headers: () => ({
      "sluice-csrf": csrfToken ?? unknownCsrfToken,
      ...(appId !== undefined && { "sluice-app": appId }),
    }),
  })
}
