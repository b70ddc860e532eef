/** The documents show the measured figures of `docs/figures/`, and no others. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { fillPage, unpadded } from "../../scripts/figures/fill.ts"
import { filesFromFigures } from "../../scripts/figures/pages.ts"
import { figureFinder, readRuns } from "../../scripts/figures/runs.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const runs = readRuns(join(root, "docs/figures"))

test.each([...filesFromFigures(root)])(
  "%s shows the figures as they were measured (npm run figures)",
  (path, content) => {
    expect(unpadded(readFileSync(join(root, path), "utf8"))).toBe(unpadded(content))
  },
)

test("each run has its date, command and machine, and each name once a day", () => {
  for (const { date, command, machine } of runs) {
    expect(date).toMatch(/^\d{4}-\d\d-\d\d$/)
    expect(command).not.toBe("")
    expect(machine).not.toBe("")
  }
  const names = runs.flatMap(({ date, figures }) => figures.map(({ name }) => `${date} ${name}`))
  expect(new Set(names).size).toBe(names.length)
})

test("ratios follow from value and limit, and whether a goal is met from its ratio", () => {
  for (const { name, value, limit, ratio, goal, met } of runs.flatMap(({ figures }) => figures)) {
    expect(goal === null, name).toBe(met === null)
    if (ratio === null || limit === null) continue
    // Values and limits are rounded to three digits.
    expect(Math.abs(value / limit - ratio), name).toBeLessThan(0.011 * Math.max(1, ratio))
    const [, sign, bound] = /^([<>])= ([\d.]+)$/.exec(goal ?? "") ?? []
    if (sign !== undefined) expect(sign === ">" ? ratio >= Number(bound) : ratio <= Number(bound), name).toBe(met)
  }
})

test("a marked number and a marked table are replaced by those of the data", () => {
  const figure = { name: "a-b", value: 1234.5, unit: "s", limit: 2469, limitIs: "", ratio: 0.5, goal: null, met: null }
  const run = { bench: "a", command: "", machine: "", notes: [], times: "" }
  const find = figureFinder([
    { ...run, date: "2026-01-01", figures: [{ ...figure, value: 7 }] },
    { ...run, date: "2026-01-02", figures: [figure] },
  ])
  const fillings = { find, computed: new Map([["scale.x", "9"]]), tables: new Map([["t", "| new |"]]) }
  const page =
    "0<!-- a-b --> (**0<!-- a-b.ratio -->**) 0<!-- a-b@2026-01-01 --> 0<!-- scale.x -->\n<!-- table: t -->\nold\n<!-- end of table -->"
  expect(fillPage(page, fillings)).toBe(
    "1,235<!-- a-b --> (**0.50<!-- a-b.ratio -->**) 7<!-- a-b@2026-01-01 --> 9<!-- scale.x -->\n<!-- table: t -->\n\n| new |\n\n<!-- end of table -->",
  )
  expect(() => fillPage("0<!-- unknown -->", fillings)).toThrow("no run has the figure unknown")
})
