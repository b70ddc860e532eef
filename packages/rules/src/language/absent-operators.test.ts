import { expect, test } from "vitest"
import { messagesOf } from "../testing/matches.testing.ts"
import type { Mode } from "../text/mode.ts"
import { absentOperators } from "./absent-operators.ts"
import { operatorGuides } from "./operator-guide.ts"

test("a query names the operators of X's stream, and a rule that of its search", () => {
  const text = 'cat (url_title:news OR "hot dog"~3) -BIO:bird bio:bird quotes_of_tweet_id:1 from:wren'
  expect(absentOperators(text, "search")).toEqual(["url_title:", "~3", "BIO:", "bio:"])
  expect(absentOperators(text, "stream")).toEqual(["quotes_of_tweet_id:"])
})

test("an alias counts as the operator that it stands for, and a name within a text as none", () => {
  expect(absentOperators("quotes_of_status_id:1", "stream")).toEqual(["quotes_of_status_id:"])
  expect(absentOperators('"bio:bird" constructor:1 form:x', "search")).toEqual([])
})

test.each<Mode>(["stream", "search"])(
  "these are the operators that the strict dialect rejects in the mode %s",
  (mode) => {
    for (const { name, example } of operatorGuides) {
      const text = `${name === "embedding_threshold" ? 'embedding:"cats"' : "cat"} ${example}`
      const isRejected = messagesOf(text, { mode, embeddings: true, strict: true }).length > 0
      expect(absentOperators(text, mode).length > 0, example).toBe(isRejected)
    }
  },
)
