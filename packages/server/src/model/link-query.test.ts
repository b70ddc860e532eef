import { selectionParameters } from "@sluice/api"
import { expect, test } from "vitest"
import { defaultSelection, parseSelection } from "./field-selection.ts"
import { linkFields, linkQuery, selectionOfQuery } from "./link-query.ts"

test.each([
  ["", []],
  ["expansions=author_id", ["expansions=author_id"]],
  ["expansions=author_id&user.fields=username,name,id", ["expansions=author_id", "user.fields=username", "name", "id"]],
  [
    "user.fields=username%2Cname&expansions=author_id%2Cgeo.place_id",
    ["user.fields=username", "name", "expansions=author_id", "geo.place_id"],
  ],
])("a link made with [%s] shows its fields split as X splits them", (query, fields) => {
  expect(linkFields(query)).toEqual(fields)
})

test("the query of a link means what the same parameters mean on a stream", () => {
  const query = "tweet.fields=lang%2Cgeo&expansions=author_id&user.fields=verified"
  expect(selectionOfQuery(query)).toEqual(
    parseSelection({ "tweet.fields": "lang,geo", expansions: "author_id", "user.fields": "verified" }),
  )
  expect(selectionOfQuery("")).toEqual(defaultSelection)
})

test.each([
  ["max_results=5", "max_results", ["5"]],
  ["expansions[]=author_id", "expansions[]", ["author_id"]],
  ["foo", "foo", [""]],
  ["__proto__=1", "__proto__", ["1"]],
])("a link takes fields and expansions only: [%s]", (query, name, values) => {
  const parameters = Object.fromEntries([[name, values]])
  expect(() => selectionOfQuery(query)).toThrow(
    expect.objectContaining({
      status: 400,
      causes: [
        {
          detail: `The query parameter [${name}] is not one of [${selectionParameters.join(",")}].`,
          message: `The query parameter [${name}] is not one of [${selectionParameters.join(",")}]`,
          parameters,
        },
      ],
    }),
  )
})

test("a repeated parameter is one list, at the place of its first value", () => {
  const query = "user.fields=name&expansions=author_id&user.fields=verified%2Curl"
  expect(selectionOfQuery(query)).toEqual(
    parseSelection({ "user.fields": "name,verified,url", expansions: "author_id" }),
  )
  expect(linkQuery(query)).toBe("user.fields=name,verified,url&expansions=author_id")
  expect(() => selectionOfQuery("user.fields=name&user.fields=name")).toThrow("is given more than once")
})

test("a wrong value is refused as on a stream", () => {
  expect(() => selectionOfQuery("expansions=foo")).toThrow("The `expansions` query parameter value [foo] is not one of")
})
