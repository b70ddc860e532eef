import type { RuleDetail } from "@sluice/api"
import type { Client } from "@sluice/client"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { useSession } from "../../../api/session.ts"

/** A rule to save. */
interface RuleToSave {
  /** The rule that it replaces; `undefined` for a new one. */
  readonly before: RuleDetail | undefined
  readonly value: string
  readonly tag: string
}

/** The rule that a save has made so far, and the ids of those that it replaces and has not deleted. */
interface SavedRule {
  readonly id: string
  readonly value: string
  readonly tag: string
  readonly replaced: readonly string[]
}

/**
 * Saves a rule and returns its id. A new tag changes the rule in place. A new text makes another rule, which is added
 * before the old one is deleted, so that no post misses both. If only the addition succeeds, the save `isUnfinished`:
 * the next one goes on from the rule that was added.
 */
export function useSaveRule() {
  const { client } = useSession()
  const queryClient = useQueryClient()
  const [unfinished, setUnfinished] = useState<SavedRule>()
  const save = useMutation({
    async mutationFn({ before, value, tag }: RuleToSave): Promise<string> {
      const saved = await savedRule(client, unfinished ?? (before && unchanged(before)), value, tag)
      if (saved.replaced.length > 0) {
        setUnfinished(saved)
        await client.request("POST", "rules", { body: { delete: { ids: [...saved.replaced] } } })
        setUnfinished(undefined)
      }
      return saved.id
    },
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["ruleDetails"] }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["ruleCounts"] }),
  })
  return { ...save, isUnfinished: unfinished !== undefined && !save.isPending }
}

function unchanged({ id, value, tag = "" }: RuleDetail): SavedRule {
  return { id, value, tag, replaced: [] }
}

/** Makes a rule have this text and tag: by a new tag, or by another rule that replaces it. */
async function savedRule(
  client: Client,
  before: SavedRule | undefined,
  value: string,
  tag: string,
): Promise<SavedRule> {
  if (before?.value === value) {
    if (before.tag === tag) return before
    await client.request("PATCH", "ruleDetail", { parameters: { rule_id: before.id }, body: { tag } })
    return { ...before, tag }
  }
  const { data, errors = [] } = await client.request("POST", "rules", {
    body: { add: [{ value, ...(tag !== "" && { tag }) }] },
  })
  const added = data?.[0]
  if (added === undefined) throw refused(errors)
  return { id: added.id, value, tag, replaced: before === undefined ? [] : [...before.replaced, before.id] }
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
