import { parseRule } from "@sluice/rules"
import { expect, test } from "vitest"
import { problemLines, reportedProblems } from "./rule-problems.ts"
import { textWidth } from "./terminal-text.ts"

function linesOf(value: string, columns = 80): readonly string[] {
  const parsed = parseRule(value)
  return parsed.ok ? [] : problemLines(value, parsed.problems, columns)
}

test("each wrong part of a rule has carets under it, the problem, and the correct form", () => {
  expect(linesOf("form:me has:image")).toEqual([
    "form:me has:image",
    "^^^^",
    "Reference to invalid operator 'form' (at position 1). Did you mean 'from'?",
    "Reference to invalid field 'form' (at position 1).",
    "Try: from:me has:image",
    "",
    "form:me has:image",
    "        ^^^^^^^^^",
    "Reference to invalid operator 'has:image'. Operator is not available in current product or product packaging. Please refer to complete available operator list at http://t.co/operators. (at position 9). Did you mean 'has:images'?",
    "Try: form:me has:images",
  ])
})

test("carets stand under columns of the terminal, not under characters", () => {
  const [line = "", marks = ""] = linesOf("猫猫 🐈 e\u0301t\u00E9 cat or dog")
  expect(line).toBe("猫猫 🐈 e\u0301t\u00E9 cat or dog")
  // A character of Chinese and an animal take two columns each, the e and its accent one together.
  expect(marks).toBe(`${" ".repeat(4 + 1 + 2 + 1 + 3 + 1 + 3 + 1)}^^`)
  // The animal and the letter count twice in the reported position, and stand in two columns and one.
  const value = "🐈 𝒳 cat or dog"
  const marked = [value, `${" ".repeat(2 + 1 + 1 + 1 + 3 + 1)}^^`]
  expect(linesOf(value).slice(0, 2)).toEqual(marked)
  expect(problemLines(value, reportedProblems(value, ["Something newer (at position 11)"]), 80)).toEqual([
    value,
    `${" ".repeat(2 + 1 + 1 + 1 + 3 + 1)}^`,
    "Something newer (at position 11)",
  ])
})

test("where the rule ends too early, the caret is after its end", () => {
  const problem = "mismatched input 'EOF' expecting ')' (at position 12). The parenthesis at position 5 is never closed"
  expect(linesOf("cat (🐈 dog")).toEqual(["cat (🐈 dog", `${" ".repeat(11)}^`, problem])
  const long = `(${"word ".repeat(40)}cat`
  const [line = "", marks = ""] = linesOf(long, 60)
  expect(line).toMatch(/^….* word cat$/)
  expect(marks.length).toBe(line.length + 1)
  expect(marks.length).toBeLessThanOrEqual(60)
})

test("control characters are shown, and count with the width of what is shown", () => {
  const problem = { message: "It is wrong.", position: 11, part: "\u0007\t" }
  expect(problemLines("cat\n\u202E dog \u0007\tcow", [problem], 80)).toEqual([
    "cat⏎<U+202E> dog ␇ cow",
    "                 ^^",
    "It is wrong.",
  ])
})

test("a long rule is cut to the width of the line, with the wrong part in it", () => {
  const words = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ")
  const value = `${words} has:image ${words}`
  const lines = linesOf(value, 60)
  const [line = "", marks = ""] = lines
  expect(textWidth(line)).toBeLessThanOrEqual(60)
  expect(line).toMatch(/^….* has:image .*…$/)
  expect(line.slice(marks.indexOf("^"), marks.length)).toBe("has:image")
  expect(lines.at(-1)).toMatch(/^Try: ….* has:images .*…$/)
  expect(textWidth(lines.at(-1) ?? "")).toBeLessThanOrEqual(60)

  const [first = "", firstMarks = ""] = linesOf(`has:image ${words}`, 60)
  expect(first).toMatch(/^has:image word0 .*…$/)
  expect(firstMarks).toBe("^".repeat(9))
  const [last = "", lastMarks = ""] = linesOf(`${words} has:image`, 60)
  expect(last).toMatch(/^….* has:image$/)
  expect(last.slice(lastMarks.indexOf("^"))).toBe("has:image")
})

test("a part that is wider than the line is cut too", () => {
  const value = `has:${"x".repeat(500)} cat`
  const [line = "", marks = ""] = linesOf(value, 60)
  expect(textWidth(line)).toBeLessThanOrEqual(60)
  expect(line).toMatch(/^has:x+… cat$/)
  expect(marks).toBe("^".repeat(line.indexOf(" ")))
})

test("an empty rule has no line to show", () => {
  expect(linesOf("")).toEqual(["Rules must contain at least one positive, non-stopword clause (at position 1)"])
})

test("a message of a server is placed at its part of the rule, or at its position, or printed alone", () => {
  const value = "cat form:me -(dog OR cow)"
  const said = reportedProblems(value, [
    "Reference to invalid operator 'form' (at position 5). Did you mean 'from'?",
    "Do not negate a set of operators grouped together in parentheses (at position 13). Negate each operator on its own",
    "Something newer (at position 15)",
    "Something else",
  ])
  expect(said).toMatchObject([
    { position: 5, part: "form", suggestion: "from" },
    { position: 13, part: "-(" },
    { position: 15, part: "d" },
    { position: 0, part: "" },
  ])
  expect(problemLines(value, said.slice(2), 80)).toEqual([
    value,
    `${" ".repeat(14)}^`,
    "Something newer (at position 15)",
    "",
    "Something else",
  ])
})
