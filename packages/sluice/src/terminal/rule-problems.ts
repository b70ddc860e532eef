/**
 * Problems of a rule as a compiler shows them:
 *
 *     form:me has:image           the rule, or as much of it as there is room for
 *     ^^^^                        the part that is wrong
 *     Reference to invalid …      what is wrong with it
 *     Try: from:me has:image      what would be right, where it is known
 */
import { parseRule, type Mode, type RuleProblem } from "@sluice/rules"
import { terminalText, terminalTextEnd, textWidth, visibleText } from "./terminal-text.ts"

/** The problems, each as some lines with an empty one between; `columns` are as wide as a line gets, messages aside. */
export function problemLines(value: string, problems: readonly RuleProblem[], columns: number): string[] {
  // X reports two problems of an operator that it does not know; they are about one part.
  const byPart = Map.groupBy(problems, ({ position, part }) => `${String(position)} ${part}`)
  return Array.from(byPart.values(), (group) => frame(value, group, columns)).flatMap((lines, at) =>
    at === 0 ? lines : ["", ...lines],
  )
}

/** How many parts of the rule are wrong. */
export function countProblems(problems: readonly RuleProblem[]): number {
  return new Set(problems.map(({ position, part }) => `${String(position)} ${part}`)).size
}

/**
 * The problems that a server reports about a rule: its own messages, with the parts that this command finds for them.
 * A server may be stricter than this command, or of another version; then the part is where the message says.
 */
export function reportedProblems(value: string, details: readonly string[], mode: Mode = "stream"): RuleProblem[] {
  const found = [true, false].flatMap((embeddings) => {
    const parsed = parseRule(value, { mode, embeddings, strict: true })
    return parsed.ok ? [] : parsed.problems
  })
  const byMessage = new Map(found.map((problem) => [problem.message, problem]))
  return details.map((message) => byMessage.get(message) ?? placedByMessage(value, message))
}

/** The problems of a rule that this command finds without a server. */
export function ownProblems(value: string): readonly RuleProblem[] {
  const parsed = parseRule(value, { mode: "stream", embeddings: true, strict: true })
  return parsed.ok ? [] : parsed.problems
}

/** The sentences about a rule in an error of a server; `undefined` when it is about something else. */
export function ruleDetails(error: unknown): readonly string[] | undefined {
  if (typeof error !== "object" || error === null || !("details" in error)) return undefined
  const { details } = error
  return Array.isArray(details) && details.length > 0 && details.every((one) => typeof one === "string")
    ? details
    : undefined
}

function placedByMessage(value: string, message: string): RuleProblem {
  const position = Number(/\(at position (\d{1,9})\)/.exec(message)?.[1] ?? 0)
  const [part = ""] = value.slice(Math.max(position - 1, 0))
  return { message, position, part: position === 0 ? "" : part }
}

function frame(value: string, group: readonly RuleProblem[], columns: number): readonly string[] {
  const messages = group.map(({ message }) => message)
  const [problem] = group
  if (problem === undefined || problem.position === 0 || value === "") return messages
  const { position, part } = problem
  const before = value.slice(0, position - 1)
  const after = value.slice(position - 1 + part.length)
  const { line, marks } = around(before, part, after, columns)
  const suggestion = group.find((one) => one.suggestion !== undefined)?.suggestion
  if (suggestion === undefined) return [line, marks, ...messages]
  const tried = around(before, suggestion, after, columns - tryThis.length)
  return [line, marks, ...messages, tryThis + tried.line]
}

const tryThis = "Try: "

/** A line of at most so many columns that shows the part with what stands around it, and carets to put under it. */
function around(
  before: string,
  part: string,
  after: string,
  columns: number,
): { readonly line: string; readonly marks: string } {
  const widths = [before, part, after].map((text) => textWidth(visibleText(text)))
  const [beforeWidth = 0, partWidth = 0, afterWidth = 0] = widths
  // A part that is wider than the line leaves a little room to see where it stands.
  // The end of the rule is a part without width, and one caret is put under it.
  const partRoom = Math.min(Math.max(partWidth, 1), columns - Math.min(beforeWidth, 10) - Math.min(afterWidth, 10))
  const left = columns - partRoom
  const beforeRoom = Math.min(beforeWidth, Math.max(Math.floor(left / 2), left - afterWidth))
  const shownBefore = terminalTextEnd(before, beforeRoom)
  const shownPart = terminalText(part, partRoom)
  const line = shownBefore + shownPart + terminalText(after, left - beforeRoom)
  return {
    line,
    marks: " ".repeat(textWidth(shownBefore)) + "^".repeat(Math.max(textWidth(shownPart), 1)),
  }
}
