/** Reads a request to change an app's ruleset. */
import type { ChangeRulesBody } from "@sluice/api"
import { asId, type RuleId } from "../../model/ids.ts"
import { invalidRequest, invalidRequests, type Problem } from "../../model/problem.ts"
import type { RuleSelector } from "../../model/rule.ts"

/** A rule to add, as requested. */
export interface NewRule {
  readonly value: string
  readonly tag?: string
}

/** A change of a ruleset: rules to add, or a selection of rules to delete. */
export type RulesetChange =
  | { readonly kind: "add"; readonly rules: readonly NewRule[] }
  | { readonly kind: "delete"; readonly selector: RuleSelector }

/**
 * The change that a request describes. Throws 400 unless exactly one of `add`, `delete` and `deleteAll` is there. Its
 * messages are X's, its details ours.
 */
export function parseChange(body: ChangeRulesBody | undefined, deleteAll: boolean): RulesetChange {
  const toAdd = body?.add
  const toDelete = body?.delete
  if (deleteAll) {
    if (toAdd !== undefined || toDelete !== undefined) {
      throw invalidRequest("delete_all deletes every rule by itself: send it without a body", {
        delete_all: ["true"],
      })
    }
    return { kind: "delete", selector: { kind: "all" } }
  }
  if (toAdd !== undefined && toDelete !== undefined) {
    throw wrongSchema("Send either `add` or `delete`, not both.", ["add", "delete"])
  }
  if (toAdd !== undefined) return { kind: "add", rules: toAdd }
  if (toDelete === undefined) {
    throw wrongSchema("Send `add` or `delete`, or the parameter delete_all=true.", ["add", "delete"])
  }
  return { kind: "delete", selector: selectorOf(toDelete) }
}

/** X's message, and what would be right. */
function wrongSchema(detail: string, members: readonly string[]): Problem {
  const parameters = Object.fromEntries(members.map((member) => [member, []]))
  return invalidRequests([{ message: "JSON doesn't match expected schema", parameters, detail }])
}

/**
 * Either `ids` or `values`: both would be two changes, one of which might fail. An empty list selects no rule: X's
 * samples send the ids of the whole list of rules.
 */
function selectorOf({ ids, values }: NonNullable<ChangeRulesBody["delete"]>): RuleSelector {
  const isBoth = ids !== undefined && ids.length > 0 && values !== undefined && values.length > 0
  if (isBoth || (ids === undefined && values === undefined)) {
    throw wrongSchema("`delete` holds either `ids` or `values`.", ["delete"])
  }
  return values === undefined || values.length === 0
    ? { kind: "ids", ids: [...new Set(ids?.map((id) => asId<RuleId>(id)))] }
    : { kind: "values", values: [...new Set(values)] }
}
