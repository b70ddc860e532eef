/** Completions of a rule while it is written: names of operators, and values of those that have few. */
import type { Completion, CompletionSource } from "@codemirror/autocomplete"
import { operatorGuides, type Mode } from "@sluice/rules"
import { ruleOptions } from "./rule-options.ts"

/** The operators of a mode; those that X has in it come first. */
function completionsOf(mode: Mode): readonly Completion[] {
  const { embeddings = false } = ruleOptions[mode]
  return operatorGuides
    .filter(({ needsEmbeddings }) => embeddings || !needsEmbeddings)
    .map(({ name, finds, example, isStandalone, modesOfX }) => ({
      label: `${name}:`,
      type: "property",
      detail: example.slice(name.length + 1),
      boost: modesOfX.includes(mode) ? 0 : -10,
      info: [
        `Finds posts ${finds}.`,
        ...(isStandalone ? [] : ["Needs another clause next to it."]),
        ...(modesOfX.includes(mode) ? [] : [`X has it ${mode === "search" ? "on its stream" : "in searches"} only.`]),
      ].join(" "),
    }))
}

/** Completes the clause before the cursor; never a name, such as `@alice.bsky.social`, or a link. */
export function completeIn(mode: Mode): CompletionSource {
  const operators = completionsOf(mode)
  return (context) => {
    const clause = context.matchBefore(/[^\s()"]*/)?.text ?? ""
    const [, name, written = ""] = /^-*(\w+):(\w*)$/.exec(clause) ?? []
    if (name !== undefined) {
      const values = operatorGuides.find((guide) => guide.name === name)?.values ?? []
      if (values.length === 0) return null
      return {
        from: context.pos - written.length,
        options: values.map((label) => ({ label, type: "enum" })),
        validFor: /^\w*$/,
      }
    }
    const word = /^-*([a-z_]*)$/i.exec(clause)?.[1]
    if (word === undefined || (word === "" && !context.explicit)) return null
    return { from: context.pos - word.length, options: operators, validFor: /^\w*$/ }
  }
}
