import { expect, test } from "vitest"
import { remembered, withoutSecrets } from "./known-secrets.ts"

test("a secret is masked in every form in which it is sent, and a text without one stays", () => {
  expect(remembered("pass word+7")).toBe("pass word+7")
  const forms = ["pass word+7", "pass%20word%2B7", Buffer.from("pass word+7").toString("base64")]
  expect(withoutSecrets(`a ${forms.join(", ")}.`)).toBe("a ********, ********, ********.")
  expect(withoutSecrets("pass word")).toBe("pass word")
})

test("a secret that is read again is not forgotten for those that came after it", () => {
  remembered("in use all along")
  for (let at = 0; at < 1_500; at++) {
    remembered(`token ${at} of another source`)
    if (at % 900 === 0) remembered("in use all along")
  }
  expect(withoutSecrets("in use all along")).not.toContain("in use")
  expect(withoutSecrets("token 3 of another source"), "the oldest are forgotten").toContain("token 3")
})

test("a secret of a few characters is not looked for", () => {
  expect(withoutSecrets(`a ${remembered("a")}`)).toBe("a a")
})
