/** `docs/delivery.md` agrees with the program. */
import { readFileSync } from "node:fs"
import { attemptOutcomes, faultOf } from "@sluice/api"
import { pino } from "pino"
import { Registry } from "prom-client"
import { expect, test } from "vitest"
import { loadConfig, settingDescriptions } from "../../config.ts"
import { createEvents } from "./recorded-events.ts"

const page = readFileSync(new URL("../../../../../docs/delivery.md", import.meta.url), "utf8")

/** Everything that the pattern's group finds in the page, once each. */
function named(pattern: RegExp): readonly string[] {
  return [...new Set([...page.matchAll(pattern)].map(([, name = ""]) => name))]
}

test("the page's table has every outcome in order, and whose fault it is", () => {
  const rows = [...page.matchAll(/^\| `([a-z_-]+)` +\|[^|]*\| (\w*) *\|$/gm)].map(([, outcome, fault]) => [
    outcome,
    fault,
  ])
  expect(rows).toEqual(attemptOutcomes.map((outcome) => [outcome, faultOf(outcome) ?? ""]))
})

test("the metrics that the page names exist", () => {
  const registry = new Registry()
  createEvents(pino({ enabled: false }), registry)
  const metrics = named(/`(sluice_\w+)`/g)
  expect(metrics.length).toBeGreaterThan(8)
  expect(metrics.filter((name) => registry.getSingleMetric(name) === undefined)).toEqual([])
})

test("the settings that the page names exist, with the defaults that it gives", () => {
  const config = loadConfig({ posture: "serve", env: {} })
  const variables = new Set(settingDescriptions.map(({ variable }) => variable))
  expect(named(/`(SLUICE_\w+)`/g).filter((variable) => !variables.has(variable))).toEqual([])
  expect(config).toMatchObject({
    deliveriesPerLinkMax: 64,
    deliveryAttemptsMax: 100,
    retrySecondsMin: 1,
    retrySecondsMax: 300,
    attemptsKeptPerLink: 1_000,
    matchRetentionHours: 24,
    deadLetterRetentionDays: 30,
    signingKeyGraceHours: 24,
  })
})
