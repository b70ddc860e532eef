/** How the console reads texts of the rule language, by their use. */
import { searchQueryCharactersMax } from "@sluice/api/limits"
import type { Mode, RuleOptions } from "@sluice/rules"

/**
 * The options of the parser for a rule and for the query of a search. The server may refuse more: it may be strict, or
 * have no embeddings.
 */
export const ruleOptions: Readonly<Record<Mode, RuleOptions>> = {
  stream: { mode: "stream", embeddings: true },
  search: { mode: "search", lengthMax: searchQueryCharactersMax },
}
