import { ChangeRulesBody, CreateReplayBody, RedeliverBody, TestRuleBody } from "@sluice/api/schemas"
import { Ajv } from "ajv"
import fc from "fast-check"
import { expect, test } from "vitest"
import { isDateTime } from "../../model/date-time.ts"
import { compileBody } from "./body-validator.ts"

const schemas = { ChangeRulesBody, CreateReplayBody, RedeliverBody, TestRuleBody }

function validate(schema: unknown, body: unknown): { value?: unknown; faults?: readonly unknown[] } {
  const verdict = compileBody(schema)(Buffer.from(JSON.stringify(body)))
  return "error" in verdict ? { faults: verdict.error.causes } : verdict
}

/** JSON that is now and then a body of one of the schemas, and often nearly one. Without null, of which Ajv thinks otherwise. */
const { value: anyBody } = fc.letrec((tie) => ({
  value: fc.oneof(
    {
      weight: 2,
      arbitrary: fc.constantFrom<unknown>(true, 1, 1.5, 1001, -3, "12", "cat", "2026-01-31T12:00:00Z", {}),
    },
    {
      weight: 2,
      arbitrary: fc.dictionary(
        fc.constantFrom("add", "delete", "ids", "values", "value", "tag", "posts", "recent", "data", "id", "a/b~c"),
        tie("value"),
        { maxKeys: 5 },
      ),
    },
    fc.array(tie("value"), { maxLength: 3 }),
  ),
}))

test.each(Object.entries(schemas))("Ajv accepts the same bodies as %s, unchanged", (_name, schema) => {
  const ajv = new Ajv({ keywords: ["x-optional", "x-takes-integers"], formats: { "date-time": isDateTime } })
  const isValid = ajv.compile(JSON.parse(JSON.stringify(schema)) as object)
  const ownMembers = fc.record(Object.fromEntries(Object.keys(schema.properties).map((name) => [name, anyBody])), {
    requiredKeys: [],
  })
  fc.assert(
    fc.property(fc.oneof(anyBody, ownMembers), (body) => {
      const { value, faults } = validate(schema, body)
      const taken = withIdsAsText(body)
      expect(faults === undefined).toBe(isValid(taken))
      if (faults === undefined) expect(value).toEqual(taken)
    }),
    { numRuns: 2_000 },
  )
})

/** The body with the integers of `delete.ids` as their digits. */
function withIdsAsText(body: unknown): unknown {
  const { delete: toDelete } = (body ?? {}) as { readonly delete?: { readonly ids?: unknown } | null }
  if (!Array.isArray(toDelete?.ids)) return body
  const ids = toDelete.ids.map((id: unknown) => (Number.isInteger(id) && Number(id) >= 0 ? String(id) : id))
  return { ...(body as object), delete: { ...toDelete, ids } }
}

test.each([
  ["items of a wrong type", { delete: { ids: Array.from({ length: 5_000 }, () => true) } }],
  ["unknown members", Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`x${index}`, 1]))],
  ["rules with an unknown member each", { add: Array.from({ length: 900 }, () => ({ value: "cat", x: 1 })) }],
])("the first twenty of thousands of faults are reported: %s", (_name, body) => {
  const { faults = [] } = validate(ChangeRulesBody, body)
  expect(faults).toHaveLength(20)
  expect(new Set(faults.map((fault) => JSON.stringify(fault)))).toHaveProperty("size", 20)
})

test("an array of one item too many is refused, and one at its bound is accepted", () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => String(index))
  expect(validate(ChangeRulesBody, { delete: { ids } })).toEqual({ value: { delete: { ids } } })
  expect(validate(ChangeRulesBody, { delete: { ids: [...ids, "1000"] } }).faults).toMatchObject([
    { detail: "JSON doesn't match expected schema: `delete.ids` must hold at most 1000." },
  ])
})

test("an id beyond 63 bits is refused although the published pattern matches it", () => {
  expect(validate(ChangeRulesBody, { delete: { ids: ["9223372036854775807"] } })).toHaveProperty("value")
  expect(validate(ChangeRulesBody, { delete: { ids: ["9223372036854775808"] } }).faults).toMatchObject([
    { message: "`delete.ids` value [9223372036854775808] is not a valid Long" },
  ])
})

test("a value of a wrong type has one fault, though it is not an allowed value either", () => {
  expect(validate(TestRuleBody, { value: "cat", mode: 5 }).faults).toMatchObject([
    { detail: "JSON doesn't match expected schema: `mode` must be a string." },
  ])
})

test("a keyword for which Sluice has no message is enforced with the message of the library", () => {
  const schema = { type: "object", properties: { name: { type: "string", minLength: 3 } } }
  expect(validate(schema, { name: "abc" })).toEqual({ value: { name: "abc" } })
  expect(validate(schema, { name: "ab" }).faults).toMatchObject([
    { parameters: { name: [] }, detail: expect.stringMatching(/`name` must .*3/) },
  ])
})
