/** Apps and tokens, for operators. Ours: X has a portal for them. */
import { Type, type Static } from "typebox"
import { nameCharactersMax } from "../limits.ts"
import { exactly, Id, idPattern, Instant, optionalInstant } from "./common.ts"

/** An app, without its secrets. */
export const Application = Type.Object({
  id: Id,
  name: Type.String(),
  consumer_key: Type.String(),
  created_at: Instant,
  revoked: Type.Boolean(),
})
export type Application = Static<typeof Application>

/** All apps, newest first, revoked ones included. */
export const AppsBody = Type.Object({
  data: Type.Array(Application),
  meta: Type.Object({ result_count: Type.Integer() }),
})
export type AppsBody = Static<typeof AppsBody>

/** Body of `POST /sluice/v1/apps`. */
export const CreateAppBody = exactly({ name: Type.String({ minLength: 1, maxLength: nameCharactersMax }) })
export type CreateAppBody = Static<typeof CreateAppBody>

/** Path parameters of routes about one app. */
export const AppParams = exactly({ id: Id })

/** An app with its secrets in the clear: shown when it is made, and when they are replaced. */
export const AppCredentialsBody = Type.Object({
  data: Type.Object({
    application_id: Id,
    business_user_id: Id,
    instance_id: Id,
    consumer_key: Type.String(),
    consumer_secret: Type.String(),
    client_id: Type.String(),
    client_secret: Type.String({
      description: "Signs deliveries and answers challenges, as the consumer secret does.",
    }),
    bearer_token: Type.String(),
  }),
})
export type AppCredentialsBody = Static<typeof AppCredentialsBody>

/** A token, without the token. Its id is the first 63 bits of its SHA-256, in decimal. */
export const ListedToken = Type.Object({
  id: Id,
  kind: Type.String({ enum: ["app", "user", "ingest", "operator"] }),
  application_id: Type.Optional(Id),
  user_id: Type.Optional(Id),
  created_at: Instant,
  name: Type.Optional(Type.String({ description: "The name that its maker gave it." })),
  last_used_at: optionalInstant("When it last authenticated a request, to a minute; absent for one that never did."),
})
export type ListedToken = Static<typeof ListedToken>

/** All tokens, newest first. */
export const TokensBody = Type.Object({
  data: Type.Array(ListedToken),
  meta: Type.Object({ result_count: Type.Integer() }),
})
export type TokensBody = Static<typeof TokensBody>

/** Body of `POST /sluice/v1/tokens`. A token of a user needs the app and the user, and no other has them. */
export const CreateTokenBody = exactly({
  kind: Type.String({
    enum: ["ingest", "operator", "user"],
    description: "Ingest: sends posts. Operator: manages the server. User: acts for a user of an app.",
  }),
  application_id: Type.Optional(Type.String({ pattern: idPattern, description: "The app of a token of a user." })),
  user_id: Type.Optional(
    Type.String({ pattern: idPattern, description: "The user for whom a token of a user acts. Any id may be one." }),
  ),
  name: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: nameCharactersMax,
      description: "A name for the token, which lists show, such as the program that has it.",
    }),
  ),
})
export type CreateTokenBody = Static<typeof CreateTokenBody>

/** A token that was just made: it is shown this once. */
export const CreatedTokenBody = Type.Object({
  data: Type.Object({ kind: Type.String({ enum: ["ingest", "operator", "user"] }), token: Type.String() }),
})
export type CreatedTokenBody = Static<typeof CreatedTokenBody>

/** Path parameters of routes about one token. */
export const TokenParams = exactly({ token_id: Id })

/** Result of revoking an app or a token. */
export const RevokedBody = Type.Object({ data: Type.Object({ revoked: Type.Boolean() }) })
export type RevokedBody = Static<typeof RevokedBody>
