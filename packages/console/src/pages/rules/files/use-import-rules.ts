import { ruleChangesMax } from "@sluice/api/limits"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useSession } from "../../../api/session.ts"
import type { FileRule } from "./rule-file.ts"

/** The result of an import or a dry run. */
export interface ImportedRules {
  readonly isDryRun: boolean
  /** Rules that were added, or can be. */
  readonly added: number
  /** The reason for each rejected rule, by its value. */
  readonly refused: ReadonlyMap<string, string>
}

/** Adds rules in requests of the largest size, or validates them in a dry run. */
export function useImportRules() {
  const { client } = useSession()
  const queryClient = useQueryClient()
  return useMutation({
    async mutationFn({
      rules,
      dryRun,
    }: {
      readonly rules: readonly FileRule[]
      readonly dryRun: boolean
    }): Promise<ImportedRules> {
      const refused = new Map<string, string>()
      let added = 0
      for (let from = 0; from < rules.length; from += ruleChangesMax) {
        const batch = rules.slice(from, from + ruleChangesMax)
        const { data = [], errors = [] } = await client.request("POST", "rules", {
          ...(dryRun && { query: { dry_run: true } }),
          body: { add: batch.map(({ value, tag }) => ({ value, ...(tag !== undefined && { tag }) })) },
        })
        added += data.length
        for (const error of errors as readonly (Readonly<Record<string, unknown>> & { readonly detail: string })[]) {
          if (typeof error["value"] === "string") refused.set(error["value"], error.detail)
        }
      }
      return { isDryRun: dryRun, added, refused }
    },
    onSettled: () =>
      Promise.all(["ruleDetails", "ruleCounts"].map((name) => queryClient.invalidateQueries({ queryKey: [name] }))),
  })
}
