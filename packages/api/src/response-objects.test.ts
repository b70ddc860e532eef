import { expect, expectTypeOf, test } from "vitest"
import {
  mediaFields,
  newNames,
  placeFields,
  pollFields,
  postFields,
  userFields,
  vocabularyOf,
  type VocabularyOf,
} from "./fields.ts"
import type { IncludesIn, PostIn, UserIn } from "./response-objects.ts"

type IncludedIn<List extends keyof IncludesIn<"old">> = NonNullable<IncludesIn<"old">[List]>[number]

test("objects in a response have the fields that a request can choose, under the names of its vocabulary", () => {
  expectTypeOf<keyof PostIn<"old">>().toEqualTypeOf<(typeof postFields)[number]>()
  expectTypeOf<keyof UserIn<"old">>().toEqualTypeOf<(typeof userFields)[number]>()
  expectTypeOf<keyof IncludedIn<"media">>().toEqualTypeOf<(typeof mediaFields)[number]>()
  expectTypeOf<keyof IncludedIn<"places">>().toEqualTypeOf<(typeof placeFields)[number]>()
  expectTypeOf<keyof IncludedIn<"polls">>().toEqualTypeOf<(typeof pollFields)[number]>()
  expectTypeOf<Exclude<keyof PostIn<"new">, keyof PostIn<"old">>>().toEqualTypeOf<keyof typeof newNames.post>()
  expectTypeOf<Exclude<keyof UserIn<"new">, keyof UserIn<"old">>>().toEqualTypeOf<keyof typeof newNames.user>()
  expectTypeOf<keyof IncludesIn<"new">>().toEqualTypeOf<"users" | "posts" | "media" | "places" | "polls">()
})

test("all counts that X requires are there under the new names", () => {
  type Counts<Shown extends { readonly public_metrics?: object }> = Required<NonNullable<Shown["public_metrics"]>>
  expectTypeOf<NonNullable<PostIn<"new">["public_metrics"]>>().toEqualTypeOf<Counts<PostIn<"new">>>()
  expectTypeOf<keyof Counts<PostIn<"new">>>().exclude<keyof Counts<PostIn<"old">>>().toEqualTypeOf<"repost_count">()
  expectTypeOf<keyof Counts<UserIn<"new">>>().exclude<keyof Counts<UserIn<"old">>>().toEqualTypeOf<"post_count">()
})

/** The vocabulary of a request, which its type knows too: this compiles only with the right one. */
function expectVocabulary<const Request extends Parameters<typeof vocabularyOf>[0]>(
  request: Request,
  vocabulary: VocabularyOf<Request>,
): void {
  expect(vocabularyOf(request)).toBe(vocabulary)
}

test("the type of a request says the vocabulary of its response", () => {
  expectVocabulary({}, "old")
  expectVocabulary({ expansions: ["author_id", "referenced_tweets.id"] }, "old")
  expectVocabulary({ "post.fields": ["lang"] }, "new")
  expectVocabulary({ expansions: ["author_id", "referenced_posts"] }, "new")
  expectVocabulary({ "post.fields": ["lang"], expansions: ["referenced_tweets.id"] }, "new")
  expectVocabulary({ "post.fields": undefined, expansions: undefined }, "old")
  // @ts-expect-error: the names are the new ones.
  expect(() => expectVocabulary({ "post.fields": ["lang"] }, "old")).toThrow("new")
})

test("a type that leaves the vocabulary open stands for both", () => {
  expectTypeOf<VocabularyOf<{ readonly "post.fields"?: readonly string[] }>>().toEqualTypeOf<"old" | "new">()
  expectTypeOf<VocabularyOf<{ readonly expansions: readonly string[] }>>().toEqualTypeOf<"old" | "new">()
  expectTypeOf<VocabularyOf<{ readonly expansions: readonly ("author_id" | "referenced_posts")[] }>>().toEqualTypeOf<
    "old" | "new"
  >()
  expectTypeOf<VocabularyOf<{ readonly expansions?: readonly "author_id"[] }>>().toEqualTypeOf<"old">()
})
