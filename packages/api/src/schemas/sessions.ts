/** Sessions of the console. Ours: X has none. */
import { Type, type Static } from "typebox"
import { Id, Instant, optionalInstant } from "./common.ts"

/** Name of the cookie that holds a session. */
export const sessionCookie = "sluice_session"

/**
 * Header with the CSRF token of a session. A request that changes something needs it, and so does a stream; other reads
 * need it where the browser sends no `Sec-Fetch-Site`, which is so on plain http.
 */
export const csrfHeader = "sluice-csrf"

/** Header with the id of the app that an operator acts for. */
export const appHeader = "sluice-app"

/** Body of `POST /sluice/v1/session`: one of the two. */
export const CreateSessionBody = Type.Object(
  {
    token: Type.Optional(Type.String({ description: "A bearer token of an app or of an operator." })),
    code: Type.Optional(Type.String({ description: "The code of a one-time sign-in link." })),
  },
  { additionalProperties: false, oneOf: [{ required: ["token"] }, { required: ["code"] }] },
)
export type CreateSessionBody = Static<typeof CreateSessionBody>

/** The signed-in caller, and facts about the server that the console needs. */
export const SessionBody = Type.Object({
  data: Type.Object({
    kind: Type.Union([Type.Literal("app"), Type.Literal("operator")]),
    application: Type.Optional(
      Type.Object({ id: Id, name: Type.String() }, { description: "The app, if the token belongs to one." }),
    ),
    csrf_token: Type.Optional(
      Type.String({
        description: "Value of the header Sluice-CSRF. Absent when a bearer token authenticates the request.",
      }),
    ),
    expires_at: optionalInstant("When the session ends. Absent for a bearer token."),
    posture: Type.Union([Type.Literal("dev"), Type.Literal("serve")], {
      description: "How the server was started. Faults can be made on demand under dev only.",
    }),
    server_time: Instant,
  }),
})
export type SessionBody = Static<typeof SessionBody>

/** Result of `DELETE /sluice/v1/session`. */
export const SessionEndedBody = Type.Object({ data: Type.Object({ ended: Type.Boolean() }) })
export type SessionEndedBody = Static<typeof SessionEndedBody>
