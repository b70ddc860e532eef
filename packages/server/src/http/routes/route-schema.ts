/** What the schemas of routes have in common, and how a field selection is read from a validated query. */
import { selectionParameters } from "@sluice/api"
import { NoQuery, ProblemBody } from "@sluice/api/schemas"
import { Type, type TSchema } from "typebox"
import type { AppId } from "../../model/ids.ts"
import { parseSelection, type FieldSelection } from "../../model/field-selection.ts"

/** The error responses of every route, for the description. */
export const problemResponses = { "4xx": ProblemBody, "5xx": ProblemBody } as const

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

/** Responses that are sent as bytes, in one content type. */
export function responseOf(type: string, schema: TSchema): unknown {
  return { 200: { description: "Default Response", content: { [type]: { schema } } }, ...problemResponses }
}

/** Responses that are text of one content type. */
export function textResponse(type: string): unknown {
  return responseOf(type, Type.String())
}

/** Without its type, which would add to that of a request's own. */
const noQuery: object = { querystring: NoQuery }

type SelectionLists = { readonly [Name in (typeof selectionParameters)[number]]?: readonly string[] }

/** The field selection of a query that the validator has read. */
export function selectionOf(query: SelectionLists): FieldSelection {
  const parameters: Partial<Record<string, string>> = {}
  for (const name of selectionParameters) {
    const values = query[name]
    if (values !== undefined) parameters[name] = values.join(",")
  }
  return parseSelection(parameters)
}
