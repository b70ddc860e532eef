import { expect, test } from "vitest"
import { streamedPost } from "./streamed-post.ts"

test("a line says how many rules matched in addition to those that are named", () => {
  const asIs = (text: string): string => text
  const style = { mark: asIs, faint: asIs } as unknown as Parameters<typeof streamedPost>[1]["style"]
  const record = {
    data: { id: "1", text: "a cat" },
    matching_rules: [
      { id: "5", tag: "pets" },
      { id: "6", tag: "" },
    ],
  }
  const to = { style, columns: Number.POSITIVE_INFINITY }
  expect(streamedPost(record, to)).toMatch(/^pets \+ 6 +a cat$/)
  expect(streamedPost({ ...record, matching_rules_omitted: 24_998 }, to)).toMatch(/^pets \+ 6 \+ 24998 more +a cat$/)
})
