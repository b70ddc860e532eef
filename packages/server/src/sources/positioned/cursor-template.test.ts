import { expect, test } from "vitest"
import { headersAt, textAt, urlAt } from "./cursor-template.ts"

test("an address has the position in its path and its parameters, and without one leaves those parameters out", () => {
  const cases: readonly (readonly [template: string, cursor: string | undefined, url: string])[] = [
    ["https://a/items?since={cursor}&all=1", "4 2&x=/?#", "https://a/items?since=4%202%26x%3D%2F%3F%23&all=1"],
    ["https://a/items?since={cursor}&all=1", undefined, "https://a/items?all=1"],
    ["https://a/items?since={cursor}", undefined, "https://a/items"],
    ["https://a/items?a={cursor}-{cursor}?b", "$&", "https://a/items?a=%24%26-%24%26?b"],
    ["https://a/{cursor}/items", "../x", "https://a/..%2Fx/items"],
    ["https://a/items", "42", "https://a/items"],
    ["https://a/items?", undefined, "https://a/items?"],
  ]
  for (const [template, cursor, url] of cases) expect(urlAt(template, cursor)).toBe(url)
  expect(() => urlAt("https://a/{cursor}", undefined)).toThrow("there is no position yet: set start.")
})

test("headers and texts have the position in a form that they can hold", () => {
  expect(headersAt({ a: "x{cursor}", b: "y" }, "1=")).toEqual({ a: "x1=", b: "y" })
  expect(headersAt({ a: "{cursor}" }, "é\r\n")).toEqual({ a: "%C3%A9%0D%0A" })
  expect(headersAt({ a: "x{cursor}", b: "y" }, undefined)).toEqual({ b: "y" })
  expect(textAt('{"since":"{cursor}"}', 'a"\n')).toBe('{"since":"a\\"\\n"}')
  expect(textAt('{"since":"{cursor}"}', undefined)).toBe('{"since":""}')
})
