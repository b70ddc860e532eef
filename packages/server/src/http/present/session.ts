/** Sessions of the console as API bodies show them. */
import type { SessionBody } from "@sluice/api"
import type { SessionOwner } from "../../control/sessions.ts"
import { instant } from "../../model/date-time.ts"

/** The caller who is signed in, by a session or, without one, by a token. */
export function presentSession({
  owner,
  session,
  posture,
  nowMs,
}: {
  readonly owner: SessionOwner
  readonly session: { readonly csrfToken: string; readonly expiresAtMs: number } | null
  readonly posture: "dev" | "serve"
  readonly nowMs: number
}): SessionBody {
  return {
    data: {
      kind: owner.kind,
      ...(owner.kind === "app" && { application: { id: owner.app.id, name: owner.app.name } }),
      ...(session !== null && {
        csrf_token: session.csrfToken,
        expires_at: instant(session.expiresAtMs),
      }),
      posture,
      server_time: instant(nowMs),
    },
  }
}

/** The end of a session; `ended` is false when there was none. */
export function presentSessionEnd(ended: boolean) {
  return { data: { ended } }
}
