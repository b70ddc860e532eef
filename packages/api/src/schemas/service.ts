/** Tokens, health and descriptions. */
import { Type, type Static } from "typebox"
import { queryOf } from "./common.ts"

/** A bearer token. */
export const TokenBody = Type.Object({ token_type: Type.String(), access_token: Type.String() })
export type TokenBody = Static<typeof TokenBody>

/** Query of `POST /oauth2/token`, which may hold what belongs in the form. */
export const TokenQuery = queryOf({ grant_type: Type.Optional(Type.String()) })
export type TokenQuery = Static<typeof TokenQuery>

/** Body of `POST /oauth2/token`, as a form. */
export const TokenForm = Type.Object({ grant_type: Type.String({ enum: ["client_credentials"] }) })

/** Health of the server. */
export const StatusBody = Type.Object({ status: Type.String() })
export type StatusBody = Static<typeof StatusBody>

/** A document of OpenAPI. */
export const DescriptionBody = Type.Object({ openapi: Type.String() }, { additionalProperties: true })
export type DescriptionBody = Static<typeof DescriptionBody> & Readonly<Record<string, unknown>>
