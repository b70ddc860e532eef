import { expect, test } from "vitest"
import { remembered, withoutSecrets } from "./known-secrets.ts"

test("a secret is masked in every form in which it is sent, and a text without one stays", () => {
  expect(remembered("pass word+7")).toBe("pass word+7")
  const forms = ["pass word+7", "pass%20word%2B7", Buffer.from("pass word+7").toString("base64")]
  expect(withoutSecrets(`a ${forms.join(", ")}.`)).toBe("a ********, ********, ********.")
  expect(withoutSecrets("pass word")).toBe("pass word")
})

test("a secret of a few characters is not looked for", () => {
  expect(withoutSecrets(`a ${remembered("a")}`)).toBe("a a")
})
