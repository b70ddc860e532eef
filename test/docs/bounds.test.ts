/** docs/bounds.md says what the sources say, and every bound says what it bounds. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import {
  boundsPage,
  boundsText,
  partsOf,
  readBounds,
  readNumberSettings,
  shownValue,
} from "../../scripts/bounds-table.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

test("the page of bounds is generated from the sources as they are", () => {
  const isCurrent = readFileSync(join(root, boundsPage), "utf8") === boundsText()
  expect(isCurrent, `${boundsPage} is older than the sources: npm run build:bounds`).toBe(true)
})

test("every constant that is a maximum or minimum has a docstring that names the bounded quantity", () => {
  const silent = readBounds()
    .filter(({ name, docstring }) => /(?:Max|Min)$/.test(name) && partsOf(docstring).what === "")
    .map(({ path, name }) => `${path}: ${name}`)
  expect(silent).toEqual([])
})

test("bounds are found in every form in which the sources write them", () => {
  const bounds = readBounds()
  expect(bounds.length).toBeGreaterThan(200)
  const valuesOf = (name: string) => bounds.filter((one) => one.name === name).map(({ value }) => value)
  // A literal that is exported, a product, and one that is computed of an imported constant.
  expect(valuesOf("webhookUrlCharactersMax")).toEqual([200])
  expect(valuesOf("sessionMsMax")).toEqual([12 * 3_600_000])
  expect(valuesOf("fromAgeMsMin")).toEqual([31 * 60_000])
  expect(bounds.every(({ name }) => name !== "minuteMs")).toBe(true)
  expect(readNumberSettings()).toContainEqual(
    expect.objectContaining({ name: "postBytesMax", range: [1_024, 1_048_576], defaultValue: 262_144 }),
  )
  expect(readNumberSettings().length).toBeGreaterThan(20)
})

test("a docstring is split into the bounded quantity, the behaviour at the bound, and the source", () => {
  expect(partsOf("Most bodies that are open; beyond it a request gets 503. Ours: as many as cores.")).toEqual({
    what: "Most bodies that are open.",
    atBound: "Beyond it a request gets 503.",
    source: "Ours: as many as cores.",
  })
  expect(partsOf('Most minutes of a backfill. Source: docs.x.com, "Recovery and redundancy".')).toEqual({
    what: "Most minutes of a backfill.",
    atBound: "",
    source: 'Source: docs.x.com, "Recovery and redundancy".',
  })
  expect(partsOf("Most messages, e.g. of NATS. An app has ten. At the bound no other one is taken.")).toEqual({
    what: "Most messages, e.g. of NATS. An app has ten.",
    atBound: "At the bound no other one is taken.",
    source: "",
  })
})

test("values are shown in the largest unit that holds them as a whole number", () => {
  expect(shownValue("bodyBytesMax", 16 * 1_048_576)).toBe("16 MiB")
  expect(shownValue("headBytesMax", 1_500)).toBe("1,500 bytes")
  expect(shownValue("silenceMsMax", 28 * 3_600_000)).toBe("28 h")
  expect(shownValue("ageMsMax", 24 * 3_600_000)).toBe("24 h")
  expect(shownValue("pollMs", 90_000)).toBe("90 s")
  expect(shownValue("textCharactersMax", 25_000)).toBe("25,000 characters")
  expect(shownValue("rulesMax", 1_000)).toBe("1,000")
})
