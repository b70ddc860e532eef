import { ruleChangesMax } from "@sluice/api/limits"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useSession } from "../../../api/session.ts"
import { useStatePer } from "../../../components/use-state-per.ts"
import type { FileRule, RuleFile } from "./rule-file.ts"

/** The result of an import or a dry run, so far. */
export interface ImportedRules {
  readonly isDryRun: boolean
  /** Rules that were added, or can be. */
  readonly added: number
  /** The reason for each rejected rule, by its value. */
  readonly refused: ReadonlyMap<string, string>
}

/** Rules to import. */
interface RulesToImport {
  readonly rules: readonly FileRule[]
  readonly dryRun: boolean
}

/**
 * Adds rules in requests of the largest size, or validates them in a dry run. The result grows with each request: if a
 * later one fails, it counts those before. Another `file` has no result yet.
 */
export function useImportRules(file: RuleFile | undefined) {
  const { client } = useSession()
  const queryClient = useQueryClient()
  const [imported, setImported] = useStatePer(file, (): ImportedRules | undefined => undefined)
  const run = useMutation({
    async mutationFn({ rules, dryRun }: RulesToImport): Promise<void> {
      setImported(undefined)
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
        setImported({ isDryRun: dryRun, added, refused: new Map(refused) })
      }
    },
    onSettled: () =>
      Promise.all(["ruleDetails", "ruleCounts"].map((name) => queryClient.invalidateQueries({ queryKey: [name] }))),
  })
  return { ...run, imported }
}
