/** The script that writes the list of top-level domains, and the list itself. */
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { namesIn, withNames } from "../scripts/top-level-domains.ts"

const module = readFileSync(new URL("../packages/rules/src/text/top-level-domains.ts", import.meta.url), "utf8")

test("the list of top-level domains is the script's output", () => {
  expect(withNames(module, [])).toBe(module)
  expect(withNames(module, ["onion", "рф", "com"])).toBe(module)
})

test("the script reads IANA's list and the names of twitter-text", () => {
  const iana = "# Version 2026051600, Last Updated Sat May 16\nAAA\nCOM\nXN--P1AI\nXN--VERMGENSBERATUNG-PWB\n"
  expect(namesIn("tlds-alpha-by-domain.txt", iana)).toEqual(["aaa", "com", "рф", "vermögensberatung"])
  const script =
    "var validGTLD = (0, _regexSupplant['default'])(RegExp('(?:(?:' + '삼성|닷컴|' + 'zw|onion' + " +
    "')(?=[^0-9a-zA-Z@+-]|$))'));"
  expect(namesIn("validGTLD.js", script)).toEqual(["삼성", "닷컴", "zw", "onion"])
})

test("the script adds new names to the right list, and removes none", () => {
  const added = withNames(module, ["zzz", "ελλ", "aaa"])
  expect(added).toContain(" zuerich zw zzz`")
  expect(added).toContain(" ελ ελλ ευ ")
  const words = (text: string) => Array.from(text.matchAll(/`\n([^`]*)`/g), ([, list = ""]) => list.split(/\s+/)).flat()
  expect(words(added).filter((name) => !words(module).includes(name))).toEqual(["zzz", "ελλ"])
  expect(words(module).filter((name) => !words(added).includes(name))).toEqual([])
})
