import { newNames, selectableNames, vocabularyOf } from "@sluice/api"
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

test("every new name of an expansion means the old one", () => {
  for (const [name, older] of Object.entries(newNames.expansions)) {
    expect(parseSelection({ expansions: name })).toEqual(parseSelection({ expansions: older }))
  }
})

test("new names of a request change the names of the response alone, and it is no default one then", () => {
  const old = parseSelection({ expansions: "referenced_tweets.id" })
  expect(parseSelection({ expansions: "referenced_posts" }, "new")).toEqual({ ...old, vocabulary: "new" })
  expect(parseSelection({}, "new")).toEqual({ ...defaultSelection, vocabulary: "new", isDefault: false })
})

test.each([
  [{}, "old"],
  [{ "tweet.fields": ["note_post"], expansions: ["author_id"] }, "old"],
  [{ expansions: ["author_id", "referenced_tweets", "entities.mentions.username"] }, "old"],
  [{ "post.fields": ["id"] }, "new"],
  [{ "tweet.fields": ["lang"], "post.fields": ["lang"] }, "new"],
  [{ expansions: ["author_id", "username"] }, "new"],
  [{ expansions: ["referenced_posts"] }, "new"],
  [{ expansions: ["edit_history_post_ids"] }, "new"],
])("%j is answered in the names of the vocabulary %s", (request, vocabulary) => {
  expect(vocabularyOf(request)).toBe(vocabulary)
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
  ["an unknown expansion", { expansions: "foo" }, "expansions", "foo"],
  ["an unknown field of users", { "user.fields": "id,password" }, "user.fields", "password"],
  ["an unknown field of posts", { "post.fields": "dummy" }, "post.fields", "dummy"],
  ["an empty list", { "tweet.fields": "" }, "tweet.fields", ""],
  ["an empty value in a list", { "media.fields": "url,,width" }, "media.fields", ""],
  ["a comma at the end", { expansions: "author_id," }, "expansions", ""],
  ["a space around a value", { expansions: "author_id, geo.place_id" }, "expansions", " geo.place_id"],
  ["another case", { expansions: "Author_ID" }, "expansions", "Author_ID"],
  ["a name of Object.prototype", { expansions: "__proto__" }, "expansions", "__proto__"],
  ["a field of another kind", { "user.fields": "text" }, "user.fields", "text"],
] as const)("a wrong value is refused, with its whole list and the allowed values: %s", (_, given, name, value) => {
  const problem = refusalOf(given)
  expect(problem).toMatchObject({ status: 400, title: "Invalid Request" })
  expect(problem.causes).toMatchObject([
    {
      parameters: { [name]: [(given as Readonly<Record<string, string>>)[name]] },
      message: `The \`${name}\` query parameter value [${value}] is not one of [${selectableNames[name].listed.join(",")}]`,
    },
  ])
})

test("a value that is given twice in one list is refused", () => {
  expect(refusalOf({ expansions: "author_id,author_id" }).causes).toMatchObject([
    {
      parameters: { expansions: ["author_id,author_id"] },
      message: "The `expansions` query parameter value [author_id] is not valid",
      detail: "The `expansions` query parameter value [author_id] is not valid: It is given more than once.",
    },
  ])
})

test("every parameter and value that is wrong is named", () => {
  const { causes } = refusalOf({ expansions: "foo,author_id,baz", "poll.fields": "bar", "place.fields": "id" })
  expect(causes.map(({ parameters, message }) => [parameters, /\[(\w+)\]/.exec(String(message))?.[1]])).toEqual([
    [{ "poll.fields": ["bar"] }, "bar"],
    [{ expansions: ["foo,author_id,baz"] }, "foo"],
    [{ expansions: ["foo,author_id,baz"] }, "baz"],
  ])
})

test("at most ten of thousands of faults are reported, and a long value is cut", () => {
  const { causes } = refusalOf({ expansions: Array.from({ length: 5_000 }, (_, n) => `x${n}`).join(",") })
  expect(causes).toHaveLength(10)
  expect(refusalOf({ expansions: "y".repeat(100_000) }).detail.length).toBeLessThan(1_100)
})

test("other parameters are ignored", () => {
  expect(parseSelection({ max_results: "5" })).toEqual(defaultSelection)
})
