import { expect, test } from "vitest"
import { problemText } from "./problem-text.ts"

const whole = {
  title: "Invalid Request",
  detail: "One or more parameters to your request was invalid.",
  status: 400,
}

test.each([
  [
    "an error and its causes",
    { ...whole, errors: [{ parameters: { a: ["b"] }, message: "a is wrong" }, { message: "c is missing" }] },
    "Invalid Request",
    ["a is wrong", "c is missing"],
  ],
  [
    "a reason, behind X's general sentence",
    { ...whole, detail: `${whole.detail} a is wrong.`, errors: [{ message: "a is wrong" }] },
    "Invalid Request: a is wrong.",
    [],
  ],
  ["an error without causes", whole, `Invalid Request: ${whole.detail}`, []],
  ["a title that is all there is", { title: "Unauthorized", detail: "Unauthorized", errors: [] }, "Unauthorized", []],
  [
    "a rule with several faults",
    { errors: [{ title: "UnprocessableEntity", value: "x:y", details: ["one", "two"] }] },
    "UnprocessableEntity",
    ["one", "two"],
  ],
  [
    "a duplicate rule",
    { errors: [{ title: "DuplicateRule", value: "cat", id: "1" }] },
    "DuplicateRule",
    ["DuplicateRule: cat"],
  ],
  [
    "members of other kinds",
    { title: "Odd", detail: 5, errors: ["text", null, { message: 7 }] },
    "Odd",
    ['{"message":7}'],
  ],
] as const)("an error body says %s", (_, body, message, details) => {
  expect(problemText(body)).toEqual({ message, details })
})

test.each([[undefined], [null], ["text"], [[]], [{}], [{ errors: [] }], [{ error: "x" }]])(
  "%j is not the body of an error",
  (body) => {
    expect(problemText(body)).toBeUndefined()
  },
)
