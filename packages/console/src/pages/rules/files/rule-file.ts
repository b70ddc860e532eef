/** Files of rules, read and written. */
import { parseRule } from "@sluice/rules"

/** A rule in a file. */
export interface FileRule {
  /** The line where it starts, from 1; in JSON and YAML, its number in the list. */
  readonly at: number
  readonly value: string
  readonly tag?: string
  /** Reasons why it cannot be added; the server may find more. */
  readonly problems: readonly string[]
}

/** The rules of a file, and the unit of their `at`. */
export type RuleFile =
  | { readonly kind: "rules"; readonly place: "line" | "entry"; readonly rules: readonly FileRule[] }
  | { readonly kind: "unreadable"; readonly problem: string }

/** The formats of an export. */
export const fileFormats = ["json", "yaml", "ndjson", "txt"] as const
export type FileFormat = (typeof fileFormats)[number]

/** Most rules of a file: ten times as many as one request adds. Ours. */
const fileRulesMax = 25_000

/**
 * Reads a JSON list, NDJSON, YAML, or one rule per line (`#` before a space starts a comment). List entries are strings,
 * or objects with `value` and `tag`.
 */
export async function readRuleFile(text: string): Promise<RuleFile> {
  const trimmed = text.trim()
  const [firstLine = ""] = trimmed.split("\n", 1)
  try {
    if (trimmed.startsWith("[")) return entriesOf(JSON.parse(trimmed))
    if (trimmed.startsWith("{")) {
      const whole = parsedJson(trimmed)
      const isLines = parsedJson(firstLine) !== undefined && listIn(whole) === undefined
      return isLines ? linesOf(text, (line) => JSON.parse(line) as unknown) : entriesOf(JSON.parse(trimmed))
    }
    if (/^(?:rules:|- )/m.test(trimmed) && /^(?:rules:|---|- |#)/.test(firstLine)) {
      const { parse } = await import("yaml")
      return entriesOf(parse(trimmed, { maxAliasCount: 0 }))
    }
  } catch (error) {
    return { kind: "unreadable", problem: error instanceof Error ? error.message : String(error) }
  }
  return linesOf(text, (line) => (/^#(?:\s|$)/.test(line) ? undefined : line))
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The rules of a list, or of the list in the member `rules`, `add` or `data`. */
function entriesOf(read: unknown): RuleFile {
  const list = Array.isArray(read) ? (read as readonly unknown[]) : listIn(read)
  if (list === undefined) {
    return { kind: "unreadable", problem: "Must be a list of rules, or an object with a list named `rules`" }
  }
  return checked(
    "entry",
    list.map((entry, index) => fileRuleOf(entry, index + 1)),
  )
}

function listIn(read: unknown): readonly unknown[] | undefined {
  if (typeof read !== "object" || read === null) return undefined
  const members = read as Readonly<Record<string, unknown>>
  return ["rules", "add", "data"].map((name) => members[name]).find((value) => Array.isArray(value)) as
    | readonly unknown[]
    | undefined
}

function linesOf(text: string, read: (line: string) => unknown): RuleFile {
  const rules = text.split("\n").flatMap((line, index) => {
    const trimmed = line.trim()
    if (trimmed === "") return []
    try {
      const entry = read(trimmed)
      return entry === undefined ? [] : [fileRuleOf(entry, index + 1)]
    } catch (error) {
      return [{ at: index + 1, value: trimmed, problems: [error instanceof Error ? error.message : String(error)] }]
    }
  })
  return checked("line", rules)
}

function fileRuleOf(entry: unknown, at: number): FileRule {
  if (typeof entry === "string") return { at, value: entry, problems: problemsOf(entry) }
  const { value, tag } = (entry ?? {}) as Readonly<Record<string, unknown>>
  if (typeof value !== "string") {
    return { at, value: JSON.stringify(entry), problems: ["Must be a string, or an object with `value`"] }
  }
  if (tag !== undefined && tag !== null && typeof tag !== "string") {
    return { at, value, problems: ["`tag` must be a string"] }
  }
  return { at, value, ...(typeof tag === "string" && tag !== "" && { tag }), problems: problemsOf(value) }
}

function problemsOf(value: string): readonly string[] {
  const parsed = parseRule(value, { embeddings: true })
  return parsed.ok ? [] : parsed.problems.map(({ message }) => message)
}

/** Marks repeated values: the server rejects them too, but as already stored. */
function checked(place: "line" | "entry", rules: readonly FileRule[]): RuleFile {
  if (rules.length > fileRulesMax) {
    return { kind: "unreadable", problem: `Contains more than ${fileRulesMax.toLocaleString()} rules` }
  }
  const first = new Map<string, number>()
  const marked = rules.map((rule) => {
    const before = first.get(rule.value)
    if (before === undefined) first.set(rule.value, rule.at)
    return before === undefined ? rule : { ...rule, problems: [...rule.problems, `The same as ${place} ${before}`] }
  })
  return { kind: "rules", place, rules: marked }
}

/** The text of a file. The format `txt`, one rule per line, drops tags and line breaks within rules. */
export function ruleFileText(
  format: FileFormat,
  rules: readonly { readonly value: string; readonly tag?: string | undefined }[],
): string {
  const plain = rules.map(({ value, tag }) => (tag === undefined ? { value } : { value, tag }))
  switch (format) {
    case "json":
      return `${JSON.stringify(plain, undefined, 2)}\n`
    case "ndjson":
      return plain.map((rule) => `${JSON.stringify(rule)}\n`).join("")
    case "txt":
      return plain.map(({ value }) => `${value.replaceAll(/\s+/g, " ")}\n`).join("")
    case "yaml":
      // A JSON string is valid YAML.
      return plain
        .map(
          (rule) =>
            `- value: ${JSON.stringify(rule.value)}\n` + ("tag" in rule ? `  tag: ${JSON.stringify(rule.tag)}\n` : ""),
        )
        .join("")
  }
}
