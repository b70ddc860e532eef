import type { RuleDetail } from "@sluice/api"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useSession } from "../../../api/session.ts"

/** A rule to save. */
interface RuleToSave {
  /** The rule that it replaces; `undefined` for a new one. */
  readonly before: RuleDetail | undefined
  readonly value: string
  readonly tag: string
}

/**
 * Saves a rule and returns its id. A new tag changes the rule in place. A new text makes another rule, which is added
 * before the old one is deleted, so that no post misses both.
 */
export function useSaveRule() {
  const { client } = useSession()
  const queryClient = useQueryClient()
  return useMutation({
    async mutationFn({ before, value, tag }: RuleToSave): Promise<string> {
      if (before?.value === value) {
        const parameters = { rule_id: before.id }
        const { data } = await client.request("PATCH", "ruleDetail", { parameters, body: { tag } })
        return data.id
      }
      const { data, errors = [] } = await client.request("POST", "rules", {
        body: { add: [{ value, ...(tag !== "" && { tag }) }] },
      })
      const added = data?.[0]
      if (added === undefined) throw refused(errors)
      if (before !== undefined) await client.request("POST", "rules", { body: { delete: { ids: [before.id] } } })
      return added.id
    },
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["ruleDetails"] }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["ruleCounts"] }),
  })
}

/** The server reports a rejected rule as an error within a 2xx response. */
function refused(
  errors: readonly { readonly title: string; readonly detail: string; readonly details?: unknown }[],
): Error {
  const [first] = errors
  const details = Array.isArray(first?.details) ? (first.details as readonly string[]).join(" ") : first?.detail
  return new RuleRefused(`${first?.title ?? "The rule was rejected"}: ${details ?? ""}`)
}

/** The server rejected the rule. */
class RuleRefused extends Error {
  override readonly name = "RuleRefused"
}
