/** Changes of an app's rules. All are one operation of the API, whose body has several forms. */
import type { ChangeRulesBody, Rule } from "@sluice/api"
import type { MethodOptions } from "./methods.ts"
import type { ResponseOf } from "./operations.ts"
import type { Requests } from "./requests.ts"
import {
  syncRules,
  type DesiredRule,
  type RuleDifference,
  type RuleRequests,
  type RuleSyncOptions,
} from "./rules-sync.ts"

/** With `dry_run` the server validates and responds as usual, but changes nothing. */
type RuleChangeOptions = Omit<MethodOptions<"rules", "POST">, "delete_all">

type RulesChanged = ResponseOf<"rules", "POST">

/** Rules to delete. */
type DeletedRules = { readonly ids: readonly string[] } | { readonly values: readonly string[] }

/** Methods that change rules; `resources.ts` says what each does. */
export interface RuleChanges {
  readonly add: (rules: readonly DesiredRule[], options?: RuleChangeOptions) => Promise<RulesChanged>
  readonly delete: (rules: DeletedRules, options?: RuleChangeOptions) => Promise<RulesChanged>
  readonly deleteAll: (options?: RuleChangeOptions) => Promise<RulesChanged>
  readonly sync: (desired: readonly DesiredRule[], options?: RuleSyncOptions) => Promise<RuleDifference>
}

/** The methods, which send these requests. */
export function ruleChanges(requests: Requests): RuleChanges {
  const change = (
    body: ChangeRulesBody | undefined,
    { signal, headers, ...query }: MethodOptions<"rules", "POST">,
  ): Promise<RulesChanged> => requests.request("POST", "rules", { body, query, signal, headers })

  const changes: RuleChanges = {
    add: async (rules, options = {}) =>
      change({ add: rules.map(({ value, tag }) => ({ value, ...(tag !== undefined && { tag }) })) }, options),
    delete: async (rules, options = {}) =>
      change({ delete: "ids" in rules ? { ids: [...rules.ids] } : { values: [...rules.values] } }, options),
    deleteAll: async (options = {}) => change(undefined, { ...options, delete_all: true }),
    async sync(desired, options = {}) {
      const { signal } = options
      const sent: RuleRequests = {
        async list() {
          const rules: Rule[] = []
          for await (const { data = [] } of requests.pages("rules", { signal })) rules.push(...data)
          return rules
        },
        add: (rules, dryRun) => changes.add(rules, { signal, dry_run: dryRun || undefined }),
        delete: (ids) => changes.delete({ ids }, { signal }),
      }
      return syncRules(sent, desired, options)
    },
  }
  return changes
}
