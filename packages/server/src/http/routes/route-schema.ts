/** Parts that the schemas of routes share, and the field selection of a validated query. */
import { selectionParameters, vocabularyOf, type SelectionParameter } from "@sluice/api"
import { NoQuery, ProblemBody } from "@sluice/api/schemas"
import { Type, type TSchema } from "typebox"
import type { AppId } from "../../model/ids.ts"
import { invalidRequest } from "../../model/problem.ts"
import { problemContentType } from "../problems.ts"
import { parseSelection, type FieldSelection } from "../../model/field-selection.ts"

const problemResponse = {
  description: "A refusal or a failure, with the reason.",
  content: { [mediaTypeOf(problemContentType)]: { schema: ProblemBody } },
}

/**
 * The error responses of every route, for the description: the usual statuses by number, as generators of clients do not
 * understand ranges, and all others as `default`.
 */
export const problemResponses = {
  400: problemResponse,
  401: problemResponse,
  403: problemResponse,
  404: problemResponse,
  409: problemResponse,
  429: problemResponse,
  500: problemResponse,
  503: problemResponse,
  default: problemResponse,
} as const

function mediaTypeOf(contentType: string): string {
  return contentType.replace(/;.*/, "")
}

/** The scope of page tokens for lists of all apps. Ids are digits, so no app has this one. */
export const allApps = "all" as AppId

/** The security of a route that requires a bearer token, for the description. */
export const bearerAuth = [{ bearer: [] }]

/** The options of a route that requires a bearer token and responds with 200. Without a `querystring` it takes no query. */
export function bearerRoute<
  Response extends TSchema,
  Request extends { readonly params?: TSchema; readonly querystring?: TSchema; readonly body?: object },
>(summary: string, response: Response, request: Request = {} as Request) {
  const responses = { 200: response, ...problemResponses }
  return { schema: { ...noQuery, summary, security: bearerAuth, response: responses, ...request } }
}

/** The options of such a route whose response is posts: they count as usage, and a cap of it bounds them. */
export function postsRoute<
  Response extends TSchema,
  Request extends { readonly params?: TSchema; readonly querystring?: TSchema },
>(summary: string, response: Response, request: Request) {
  return { config: { returnsPosts: true as const }, ...bearerRoute(summary, response, request) }
}

/** Responses that are sent as bytes, in one content type. */
export function responseOf(type: string, schema: TSchema): unknown {
  return responsesOf({ [type]: schema })
}

/** Responses in one of several content types. */
export function responsesOf(schemas: Readonly<Record<string, TSchema>>): unknown {
  const content = Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }]))
  return { 200: { description: "Default Response", content }, ...problemResponses }
}

/** Responses that are text of one content type. */
export function textResponse(type: string): unknown {
  return responseOf(type, Type.String())
}

/** Without its type, which would add to that of a request's own. */
const noQuery: object = { querystring: NoQuery }

type SelectionLists = { readonly [Name in SelectionParameter]?: readonly string[] }

/** The field selection of a query that the validator has read, under the older names: streams have no others. */
export function selectionOf(query: SelectionLists): FieldSelection {
  return parseSelection(listTexts(query))
}

/** The field selection of a query that the validator has read, under the names of the query. */
export function responseSelectionOf(query: SelectionLists): FieldSelection {
  return parseSelection(listTexts(query), vocabularyOf(query))
}

function listTexts(query: SelectionLists): Partial<Record<SelectionParameter, string>> {
  const parameters: Partial<Record<SelectionParameter, string>> = {}
  for (const name of selectionParameters) {
    const values = query[name]
    if (values !== undefined) parameters[name] = values.join(",")
  }
  return parameters
}

/** The parameters that a page token is bound to: all but the page's size and token, sorted by name, lists sorted. */
export function boundParameters(query: Readonly<Record<string, string | number | readonly string[]>>): string {
  const { max_results: _size, next_token: _next, pagination_token: _token, ...bound } = query
  return Object.entries(bound)
    .map(([name, value]) => `${name}=${typeof value === "object" ? value.toSorted().join(",") : value}`)
    .toSorted()
    .join("&")
}

/** The page token of a query and the name that it came under: the two names mean the same, and at most one may be given. */
export function pageTokenOf(query: { readonly next_token?: string; readonly pagination_token?: string }): {
  readonly token: string | undefined
  readonly tokenParameter?: "next_token"
} {
  const { next_token: next, pagination_token: pagination } = query
  if (next === undefined) return { token: pagination }
  if (pagination === undefined) return { token: next, tokenParameter: "next_token" }
  throw invalidRequest("Give one of `next_token` and `pagination_token`, which mean the same.", {
    next_token: [next],
    pagination_token: [pagination],
  })
}
