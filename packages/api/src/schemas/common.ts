/** Parts that the bodies and query strings of many routes share. */
import { Type, type Static, type TProperties, type TSchemaOptions } from "typebox"
import { selectableNames, type SelectableNames, type SelectionParameter } from "../fields.ts"
import type { Includes } from "../envelope.ts"

/** Form of an id. Source: X's OpenAPI document 2.167. */
export const idPattern = "^[0-9]{1,19}$"

/** An id of any object: a snowflake, in digits as X writes them. */
export const Id = Type.String({ pattern: idPattern, description: "Decimal digits, 1 to 19." })

/** An instant in a body. */
export const Instant = Type.String({
  format: "date-time",
  description: "RFC 3339 in UTC with milliseconds and Z.",
})

/** An optional instant with a description of its own. */
export const optionalInstant = (description: string) => Type.Optional(Type.String({ format: "date-time", description }))

/** An object that may have no other members. */
export const exactly = <Properties extends TProperties>(
  properties: Properties,
  { minProperties }: { readonly minProperties?: number } = {},
) => Type.Object(properties, { additionalProperties: false, ...(minProperties !== undefined && { minProperties }) })

/** A post. Only its id and its text are checked; all other members pass. */
export const OpenPost = Type.Object({ id: Id, text: Type.String() }, { additionalProperties: true })

/** An error, in the `errors` of a body and at the top level of a 4xx or 5xx one. */
const ErrorBody = Type.Object(
  {
    title: Type.String(),
    type: Type.String(),
    detail: Type.String(),
    status: Type.Integer(),
    message: Type.String({ description: "X's message where it has one, else the detail." }),
  },
  { additionalProperties: true },
)

/** Errors in a 2xx response, in addition to its data. */
export const Errors = Type.Optional(Type.Array(ErrorBody))

/** A response of status 4xx or 5xx: the error, and the same in `errors`. */
export const ProblemBody = Type.Object(
  { ...ErrorBody.properties, errors: Type.Array(ErrorBody) },
  { additionalProperties: true },
)
export type ProblemBody = Static<typeof ProblemBody>

/** Pagination meta of a list. */
export const PageMeta = Type.Object({
  result_count: Type.Integer(),
  newest_id: Type.Optional(Type.String()),
  oldest_id: Type.Optional(Type.String()),
  next_token: Type.Optional(Type.String()),
  previous_token: Type.Optional(Type.String()),
})
export type PageMeta = Static<typeof PageMeta>

/** The response to a deletion. */
export const DeletedBody = Type.Object({ data: Type.Object({ deleted: Type.Boolean() }) })
export type DeletedBody = Static<typeof DeletedBody>

/** The types name the members of a post that clients read; the schemas let every member pass. */
export type WithPosts<Body, Data> = Omit<Body, "data" | "includes"> & {
  readonly data?: Data
  readonly includes?: Includes
}

/**
 * Options of a query string: a list is comma-separated, or its parameter is given several times, or both.
 * `x-ordered` names pairs of which the first must not come after the second.
 */
export const query = { additionalProperties: false, style: "form", explode: false } as const

/** A query string of these parameters. */
export const queryOf = <Properties extends TProperties>(parameters: Properties) => Type.Object(parameters, query)

/** One of these names in a query string. */
export const oneOf = <const Name extends string>(names: readonly Name[], options: TSchemaOptions = {}) =>
  Type.Unsafe<Name>(Type.String({ enum: [...names], ...options }))

/** A list of some of these names. A refusal lists only those of `listed`, when some are other names of these. */
export const listOf = <const Name extends string>(
  names: readonly Name[],
  {
    listed = names,
    description = "Comma-separated.",
  }: { readonly listed?: readonly string[]; readonly description?: string } = {},
) =>
  Type.Optional(
    Type.Array(oneOf(names, listed.length < names.length ? { "x-listed": [...listed] } : {}), {
      minItems: 1,
      uniqueItems: true,
      description,
    }),
  )

/** A list of names that choose fields or expansions. */
export const chosenBy = <Name extends string>({ listed, meanings }: SelectableNames<Name>) =>
  listOf((Object.keys(meanings) as Name[]).toSorted(), { listed })

/** Query parameters that choose the fields and related objects to show with posts. */
export const selection = {
  "tweet.fields": chosenBy(selectableNames["tweet.fields"]),
  "post.fields": chosenBy(selectableNames["post.fields"]),
  "user.fields": chosenBy(selectableNames["user.fields"]),
  "media.fields": chosenBy(selectableNames["media.fields"]),
  "place.fields": chosenBy(selectableNames["place.fields"]),
  "poll.fields": chosenBy(selectableNames["poll.fields"]),
  expansions: chosenBy(selectableNames.expansions),
} satisfies Readonly<Record<SelectionParameter, unknown>>

/** Token of the page to return. */
export const PaginationToken = Type.Optional(
  Type.String({ minLength: 1, description: "A next_token or previous_token of an earlier response." }),
)

/** Largest number of results of a page. */
export const pageSize = ({ min, max, default: size }: { min: number; max: number; default: number }) =>
  Type.Optional(Type.Integer({ minimum: min, maximum: max, default: size }))

/** The query string of a route without parameters. */
export const NoQuery = queryOf({})

/** Path parameters of routes about one webhook. */
export const WebhookParams = exactly({ webhook_id: Id })
