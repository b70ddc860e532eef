/** docs/sources.md names every setting and every metric of a source, and no others. */
import { readFileSync } from "node:fs"
import { pino } from "pino"
import { Registry } from "prom-client"
import { expect, test } from "vitest"
import { loadConfig, printConfig } from "../config.ts"
import { createEvents } from "../runtime/events/recorded-events.ts"

const page = readFileSync(new URL("../../../../docs/sources.md", import.meta.url), "utf8")

/** The first cells of the rows of a section. */
function rowsOf(title: string): readonly string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(title)) ?? ""
  return Array.from(section.matchAll(/^\| `([\w-]+)`/gm), ([, name = ""]) => name).toSorted()
}

test("the page lists the settings of a source with their defaults", () => {
  const printed = printConfig({ posture: "serve", env: {} })
  const names = Array.from(printed.matchAll(/^nats\w+/gm), ([name]) => name)
  expect(rowsOf("Settings")).toEqual(names.toSorted())
  const { natsConsumer, natsDeadLetterSubject } = loadConfig({ posture: "serve", env: {} })
  expect(page).toMatch(new RegExp(`^\\| \`natsConsumer\` +\\| \`${natsConsumer}\` `, "m"))
  expect(page).toMatch(new RegExp(`^\\| \`natsDeadLetterSubject\` +\\| \`${natsDeadLetterSubject}\` `, "m"))
})

test("the page lists the metrics of a source", () => {
  const registry = new Registry()
  createEvents(pino({ enabled: false }), registry)
  const names = registry.getMetricsAsArray().map(({ name }) => name)
  const own = names.filter((name) => name.startsWith("sluice_source_"))
  expect(rowsOf("Metrics")).toEqual([...own, "sluice_failures_total"].toSorted())
})
