/** The session of the page: who is signed in, and the app that an operator has chosen. */
import { createClient, type Client } from "@sluice/client"
import type { SessionBody } from "@sluice/api"
import { createContext, useContext } from "react"
import { reportingFetch } from "./connection.ts"

/** The member `data` of the session's route. */
export type SessionData = SessionBody["data"]

/** The session of a signed-in page. */
export interface Session extends SessionData {
  /** Sends requests for the signed-in app, or for the app that the operator has chosen. */
  readonly client: Client
  /** The app of the requests; `undefined` for an operator who has chosen all apps. */
  readonly appId: string | undefined
  /** Chooses the app for an operator; `undefined` for all apps. */
  readonly chooseApp: (appId: string | undefined) => void
  readonly signOut: () => void
}

/** Provided by the shell to every page. */
export const SessionContext = createContext<Session | undefined>(undefined)

/** The session of the page. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error("useSession is called outside the shell")
  return session
}

/**
 * The value of the header `Sluice-CSRF` before the token is known. `GET /sluice/v1/session` only requires the header, which
 * pages of other origins cannot send.
 */
const unknownCsrfToken = "unknown"

/** A client whose requests carry the session's CSRF token and the app that an operator has chosen. */
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
