import { ProblemBody } from "@sluice/api"
import type { FieldSelection } from "../../model/field-selection.ts"
import { parseSelection } from "../../model/field-selection.ts"
import { selectionParameters } from "@sluice/api"

/** Answers that every route may give beside its own, for the description. */
export const refusals = { "4xx": ProblemBody, "5xx": ProblemBody } as const

/** How a route is secured, for the description. */
export const withBearer = [{ bearer: [] }]

type SelectionLists = { readonly [Name in (typeof selectionParameters)[number]]?: readonly string[] }

/** The selection of a query that the validator has read. */
export function selectionOf(query: SelectionLists): FieldSelection {
  const parameters: Partial<Record<string, string>> = {}
  for (const name of selectionParameters) {
    const values = query[name]
    if (values !== undefined) parameters[name] = values.join(",")
  }
  return parseSelection(parameters)
}
