/** CHANGELOG.md says what the changesets say. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { parseChangeset, readChangesets, withReleased, withUnreleased } from "../../scripts/changelog.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

test("the changelog's unreleased part is generated from the changesets", () => {
  const page = readFileSync(join(root, "CHANGELOG.md"), "utf8")
  const isCurrent = page === withUnreleased(page, readChangesets())
  expect(isCurrent, "CHANGELOG.md is older than .changeset/: npm run build:changelog").toBe(true)
})

test("a changeset names packages of this repository, and has a text", () => {
  const names = readdirSync(join(root, "packages")).map((name) => (name === "sluice" ? name : `@sluice/${name}`))
  for (const { name, bumps, text } of readChangesets()) {
    expect(names, name).toEqual(expect.arrayContaining(Object.keys(bumps)))
    expect(Object.keys(bumps), name).not.toEqual([])
    expect(text, name).toMatch(/[.!]$/)
  }
})

test("unreleased changes are listed by their kind, and become the next version", () => {
  const changesets = [
    parseChangeset("fixed", '---\n"sluice": patch\n---\n\nA fix over\ntwo lines.\n'),
    parseChangeset("walk", '---\n"@sluice/rules": minor\n"@sluice/api": patch\n---\n\nA walk.\n'),
    parseChangeset("list", '---\n"sluice": minor\n---\n\n- One.\n- Two.\n'),
  ]
  const released = "## 0.1.0\n\n### Features and changes\n\n- The first.\n"
  const page = withUnreleased(`# Changelog\n\n${released}`, changesets)
  expect(page).toBe(
    "# Changelog\n\n## Unreleased\n\n### Features and changes\n\n- A walk. (`@sluice/rules`, `@sluice/api`)\n- One.\n- Two.\n\n" +
      `### Fixes and improvements\n\n- A fix over\n  two lines.\n\n${released}`,
  )
  expect(withUnreleased(page, changesets)).toBe(page)
  const next = withReleased(page, "0.2.0")
  expect(next).toContain("## 0.2.0\n\n### Features and changes\n\n- A walk.")
  expect(withUnreleased(next, [])).toBe(next)
})

test("a changeset without packages is refused", () => {
  expect(() => parseChangeset("none", "Only a text.\n")).toThrow(".changeset/none.md names no package")
})
