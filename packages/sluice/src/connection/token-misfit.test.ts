import { expect, test } from "vitest"
import { tokenMisfit, type Role, type TokenPlace } from "./token-misfit.ts"
import type { TokenKind } from "./context-files.ts"

const context: TokenPlace = { kind: "context", name: "work" }
const variable: TokenPlace = { kind: "given", name: "SLUICE_TOKEN" }

// The role of the command, the kind of the context's token, and the kinds that are needed instead, if any.
const cases: readonly (readonly [Role, TokenKind, string])[] = [
  ["app", "app", ""],
  ["app", "operator", ""],
  ["app", "other", ""],
  ["ingest", "app", "a token of kind ingest or a token of kind operator"],
  ["ingest", "operator", ""],
  // It may be a token of kind ingest: the server decides.
  ["ingest", "other", ""],
  ["operator", "app", "a token of kind operator"],
  ["operator", "operator", ""],
  ["operator", "other", "a token of kind operator"],
]

test.each(cases)("a command as %s with a context of kind %s needs instead: %s", (role, held, needed) => {
  const found = tokenMisfit({ by: "role", role, held }, context)
  const expected = `The token of the context work may not do this: it takes ${needed}.`
  expect(found?.message).toBe(needed === "" ? undefined : expected)
})

const refusal = (supported: string): string =>
  `Authenticating with OAuth 2.0 Application-Only is forbidden for this endpoint.  Supported authentication types are [${supported}].`

test.each([
  ["OAuth 2.0 Application-Only", "a token of kind app", "sluice app create NAME"],
  ["OAuth 1.0a User Context, OAuth 2.0 User Context", "a token of kind user", "--kind user"],
  ["Operator Token", "a token of kind operator", "--kind operator"],
])("a server that takes %s needs %s", (supported, needed, create) => {
  const found = tokenMisfit({ by: "response", detail: refusal(supported) }, variable)
  expect(found?.message).toBe(`The token of SLUICE_TOKEN may not do this: it takes ${needed}.`)
  expect(found?.hints.join(" ")).toContain(create)
})

test("other responses, and kinds that are not known, show nothing", () => {
  for (const detail of ["Forbidden", refusal("OAuth 1.0a User Context"), refusal("")]) {
    expect(tokenMisfit({ by: "response", detail }, variable)).toBeUndefined()
  }
})

test("a refusal reads the same before the request and after it, and the next step fits the place", () => {
  const before = tokenMisfit({ by: "role", role: "ingest", held: "app" }, context)
  const use = { by: "response", detail: refusal("Ingest Token, Operator Token") } as const
  expect(tokenMisfit(use, context)).toEqual(before)
  expect(before?.hints.join(" ")).toContain("sluice login")
  expect(tokenMisfit(use, variable)?.hints.join(" ")).toContain("--token-file")
})
