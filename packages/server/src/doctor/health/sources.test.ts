import { expect, test } from "vitest"
import { sourceFindings } from "./sources.ts"

const sky = { name: "sky", driver: 3, position: "5", savedAtMs: 1_000, isPaused: false }
const seen = { stored: [sky], deadLetters: new Map<string, number>(), listed: [{ name: "sky" }], nowMs: 121_000 }

test("a source that goes on is named with the age of its position, and no source is no finding", () => {
  expect(sourceFindings({ ...seen, stored: [] })).toEqual([])
  const [only, ...others] = sourceFindings(seen)
  expect(only).toMatchObject({ level: "ok", subject: "sources" })
  expect(only?.text).toMatch(/^1 source with a position: sky \(saved 2 min\w* ago\)\.$/)
  expect(others).toEqual([])
})

test("a paused source, one that is no longer listed, and dead letters are warnings with what to do", () => {
  const stored = [sky, { name: "pond", driver: 1, isPaused: true }]
  const found = sourceFindings({ ...seen, stored, deadLetters: new Map([["sky", 2]]) })
  expect(found.filter(({ level }) => level === "warning")).toEqual([
    { level: "warning", subject: "sources", text: "The source pond is paused.", advice: "sluice sources resume pond" },
    expect.objectContaining({ text: "The source pond has run, and the configuration no longer lists it." }),
    expect.objectContaining({
      text: "The source sky has 2 dead letters: records that could not become posts.",
      advice: "sluice sources dead-letters sky",
    }),
  ])
  // Without a configuration file nothing is known of the list.
  expect(sourceFindings({ ...seen, stored, listed: [] }).some(({ text }) => text.includes("no longer"))).toBe(false)
})
