import { expect, test } from "vitest"
import { failureText } from "./attempts.ts"

test.each([
  [
    { outcome: "server_error", status: 503, error: "responded with status 503" },
    "the endpoint responded with status 503",
  ],
  [{ outcome: "connect", error: "connect ECONNREFUSED 127.0.0.1:9" }, "connect ECONNREFUSED 127.0.0.1:9"],
  [{ outcome: "timeout" }, "the outcome was timeout"],
])("a failed attempt is a sentence: %j", (attempt, expected) => {
  expect(failureText(attempt)).toBe(expected)
})
