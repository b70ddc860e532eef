import { expansionAliases, expansions, mediaFields, postFields, userFields } from "@sluice/api"
import { expect, test } from "vitest"
import { defaultSelection, parseSelection } from "./field-selection.ts"
import { Problem } from "./problem.ts"

function refusalOf(parameters: Readonly<Record<string, string>>): Problem {
  try {
    parseSelection(parameters)
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
  throw new Error("it was not refused")
}

test("an expansion shows the field that it follows", () => {
  const { post } = parseSelection({ expansions: "author_id,referenced_tweets.id,attachments.media_keys" })
  expect([...post].toSorted()).toEqual([
    "attachments",
    "author_id",
    "edit_history_tweet_ids",
    "id",
    "referenced_tweets",
    "text",
  ])
})

test("a request that names no fields gets the defaults", () => {
  expect(parseSelection({})).toEqual(defaultSelection)
})

test("requested fields are added to the defaults", () => {
  const selection = parseSelection({ "tweet.fields": "created_at,lang", "user.fields": "verified" })
  expect([...selection.post]).toEqual(["id", "text", "edit_history_tweet_ids", "created_at", "lang"])
  expect([...selection.user]).toEqual(["id", "name", "username", "verified"])
  expect([...selection.media]).toEqual(["media_key", "type"])
})

test("tweet.fields and post.fields mean the same", () => {
  expect(parseSelection({ "post.fields": "lang" })).toEqual(parseSelection({ "tweet.fields": "lang" }))
  expect(parseSelection({ "post.fields": "lang", "tweet.fields": "geo,lang" }).post).toEqual(
    parseSelection({ "tweet.fields": "lang,geo" }).post,
  )
})

test("every new name of an expansion means the same as the old one", () => {
  for (const [alias, name] of Object.entries(expansionAliases)) {
    expect(parseSelection({ expansions: alias })).toEqual(parseSelection({ expansions: name }))
  }
})

test("new names of post fields mean the same as the old ones", () => {
  const selection = parseSelection({ "post.fields": "note_post,referenced_posts,edit_history_post_ids" })
  expect(selection.post).toEqual(
    parseSelection({ "tweet.fields": "note_tweet,referenced_tweets,edit_history_tweet_ids" }).post,
  )
})

test.each([
  ["the default fields by name", { "tweet.fields": "id,text" }, true],
  ["fields of users that nothing includes", { "user.fields": "verified" }, true],
  ["another field", { "tweet.fields": "lang" }, false],
  ["an expansion", { expansions: "author_id" }, false],
])("the selection is the default one or not: %s", (_, parameters, isDefault) => {
  expect(parseSelection(parameters).isDefault).toBe(isDefault)
})

test.each([
  ["an unknown expansion", { expansions: "foo" }, "expansions", "foo", expansions],
  ["an unknown field of users", { "user.fields": "id,password" }, "user.fields", "password", userFields],
  ["an empty list", { "tweet.fields": "" }, "tweet.fields", "", postFields],
  ["an empty value in a list", { "media.fields": "url,,width" }, "media.fields", "", mediaFields],
  ["a comma at the end", { expansions: "author_id," }, "expansions", "", expansions],
  ["a space around a value", { expansions: "author_id, geo.place_id" }, "expansions", " geo.place_id", expansions],
  ["another case", { expansions: "Author_ID" }, "expansions", "Author_ID", expansions],
  ["a name of Object.prototype", { expansions: "__proto__" }, "expansions", "__proto__", expansions],
  ["a field of another kind", { "user.fields": "text" }, "user.fields", "text", userFields],
])("a wrong value is refused, with its parameter and the allowed values: %s", (_, parameters, name, value, names) => {
  const problem = refusalOf(parameters)
  expect(problem).toMatchObject({ status: 400, title: "Invalid Request" })
  expect(problem.causes).toMatchObject([
    {
      parameters: { [name]: [value] },
      message: `The \`${name}\` query parameter value [${value}] is not one of [${names.join(",")}]`,
    },
  ])
})

test("a value that is given twice in one list is refused", () => {
  expect(refusalOf({ expansions: "author_id,author_id" }).causes).toMatchObject([
    {
      parameters: { expansions: ["author_id"] },
      message: "The `expansions` query parameter value [author_id] is given more than once",
    },
  ])
})

test("every parameter that is wrong is named", () => {
  const { causes } = refusalOf({ expansions: "foo", "poll.fields": "bar", "place.fields": "id" })
  expect(causes.map((cause) => cause.parameters)).toEqual([{ "poll.fields": ["bar"] }, { expansions: ["foo"] }])
})

test("at most ten of thousands of faults are reported, and a long value is cut", () => {
  const { causes } = refusalOf({ expansions: Array.from({ length: 5_000 }, (_, n) => `x${n}`).join(",") })
  expect(causes).toHaveLength(10)
  expect(refusalOf({ expansions: "y".repeat(100_000) }).detail.length).toBeLessThan(1_000)
})

test("other parameters are ignored", () => {
  expect(parseSelection({ max_results: "5" })).toEqual(defaultSelection)
})
