/**
 * A list of rules as a file: YAML, or JSON, which YAML includes.
 *
 *     - value: cat has:images          a rule with its tag
 *       tag: cats
 *     - "#heron -is:retweet"           a rule without one
 *
 * X's response with the rules of an app, `{"data":[…]}`, is such a list too; its ids are ignored.
 */
import type { DesiredRule } from "@sluice/client"
import { ruleTagCharactersMax } from "@sluice/api/limits"
import { Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, Scalar, visit, type Node } from "yaml"
import { Failure } from "../process/failure.ts"
import { isUnsafe, jsonLines, yamlLines } from "../terminal/terminal-text.ts"

/** Most bytes of a file. Ours: ten thousand rules of the longest kind. */
export const rulesFileBytesMax = 64 * 1024 * 1024

/** A rule and the line in which it begins. */
export type FiledRule = DesiredRule & { readonly line: number }

/** The rules of a file's text. Throws `Failure`, which names `path` and each line that is not as it should be. */
export function readRulesFile(text: string, path: string): readonly FiledRule[] {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true, logLevel: "error" })
  const lineOf = (at: number): number => lines.linePos(at).line
  const faults: Fault[] = document.errors.map(({ message, pos }) => ({ line: lineOf(pos[0]), message }))
  const rules: FiledRule[] = []
  if (faults.length === 0) {
    const list = listOf(document.contents)
    if (list === undefined) faults.push({ line: 1, message: expected })
    for (const item of list ?? []) {
      const line = lineOf((item as Node | null)?.range?.[0] ?? 0)
      const rule = ruleOf(item)
      if ("fault" in rule) faults.push({ line, message: rule.fault })
      else rules.push({ ...rule, line })
    }
    faults.push(...repeated(rules))
  }
  if (faults.length === 0) return rules
  const shown = faults.toSorted((a, b) => a.line - b.line).slice(0, faultsMax)
  throw new Failure(
    `${path} is not a list of rules.`,
    shown.map(({ line, message }) => `line ${String(line)}: ${message}`),
  )
}

/**
 * The text of a file that `readRulesFile` reads back as the same rules. Control and invisible characters are escaped:
 * rules and tags are input of anyone with the app's token.
 */
export function rulesText(rules: readonly DesiredRule[], format: "yaml" | "json"): string {
  const plain = rules.map(({ value, tag }) => ({ value, ...(tag !== undefined && { tag }) }))
  if (format === "json") return jsonLines(JSON.stringify(plain, undefined, 2))
  const document = new Document(plain)
  visit(document, {
    Scalar(_, scalar) {
      // YAML has escapes in double quotes only.
      if (typeof scalar.value === "string" && isUnsafe(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE
    },
  })
  // Without folding: a rule is a line, and a change of it is one in a difference of two files.
  return yamlLines(document.toString({ lineWidth: 0 }).trimEnd())
}

interface Fault {
  readonly line: number
  readonly message: string
}

/** Most faults that are shown. Ours. */
const faultsMax = 20

const expected =
  'The file must hold a list of rules: lines such as "- value: cat has:images", or JSON [{"value":"…","tag":"…"}].'

function listOf(contents: unknown): readonly unknown[] | undefined {
  if (contents === null) return []
  if (isSeq(contents)) return contents.items
  const data: unknown = isMap(contents) ? contents.get("data") : undefined
  return isSeq(data) ? data.items : undefined
}

function ruleOf(item: unknown): DesiredRule | { readonly fault: string } {
  if (isAlias(item)) return { fault: "An alias is no rule. Write the rule out." }
  if (isScalar(item)) return textOf(item, "The rule", (value) => ({ value }))
  if (!isMap(item)) return { fault: expected }
  const unknownName = item.items
    .map(({ key }) => (isScalar(key) ? String(key.value) : "?"))
    .find((name) => !["value", "tag", "id"].includes(name))
  if (unknownName !== undefined) return { fault: `A rule has the members value and tag, and not ${unknownName}.` }
  const tag: unknown = item.get("tag", true)
  return textOf(item.get("value", true), "`value`", (value) =>
    tag === undefined || (isScalar(tag) && tag.value === null)
      ? { value }
      : textOf(tag, "`tag`", (text) =>
          text.length > ruleTagCharactersMax
            ? {
                fault: `\`tag\` has ${String(text.length)} characters, and may have at most ${String(ruleTagCharactersMax)}.`,
              }
            : { value, tag: text },
        ),
  )
}

/** The text of a node; of a block without the line break at its end. */
function textOf(
  node: unknown,
  name: string,
  use: (text: string) => DesiredRule | { readonly fault: string },
): DesiredRule | { readonly fault: string } {
  if (!isScalar(node) || node.value === null) return { fault: `${name} is missing.` }
  if (typeof node.value !== "string") return { fault: `${name} must be a text: put ${node.source ?? "it"} in quotes.` }
  // In YAML a # after a space begins a comment, so a rule that goes on with a hashtag would lose it without a word.
  if (node.type === Scalar.PLAIN && node.comment !== undefined && node.comment !== null) {
    return { fault: `${name} ends before "#${node.comment}", a comment in YAML: put the rule in quotes.` }
  }
  const isBlock = node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED
  const text = isBlock ? node.value.trim() : node.value
  return text === "" ? { fault: `${name} is empty.` } : use(text)
}

function repeated(rules: readonly FiledRule[]): readonly Fault[] {
  const firsts = new Map<string, number>()
  return rules.flatMap(({ value, line }) => {
    const first = firsts.get(value)
    if (first === undefined) firsts.set(value, line)
    return first === undefined ? [] : [{ line, message: `The rule stands in line ${String(first)} already.` }]
  })
}
