/** The alert rules in `deploy/` against the metrics that the server registers. */
import { readFileSync } from "node:fs"
import { attemptOutcomes, paths } from "@sluice/api"
import { pino } from "pino"
import { Registry } from "prom-client"
import { describe, expect, test } from "vitest"
import { parse } from "yaml"
import { createEvents } from "./recorded-events.ts"

interface AlertRule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

const file = new URL("../../../../../deploy/prometheus-alerts.yaml", import.meta.url)
const { groups } = parse(readFileSync(file, "utf8")) as {
  groups: readonly { readonly name: string; readonly rules: readonly AlertRule[] }[]
}
const rules = groups.flatMap((group) => group.rules)

/** Metrics that the server registers, with their labels. A histogram makes three series of its name. */
const registered = new Map(
  (() => {
    const registry = new Registry()
    createEvents(pino({ enabled: false }), registry)
    return registry.getMetricsAsArray().flatMap((metric) => {
      const {
        name,
        type,
        labelNames = [],
      } = metric as unknown as {
        name: string
        type: string
        labelNames?: readonly string[]
      }
      const names = type === "histogram" ? ["_count", "_sum", "_bucket"].map((end) => name + end) : [name]
      return names.map((series) => [series, { labels: labelNames, isCounter: type === "counter" }] as const)
    })
  })(),
)

/** Metrics of the process, which prom-client registers. */
const ofProcess = ["nodejs_eventloop_lag_p99_seconds", "process_resident_memory_bytes"]

/** Words of PromQL that the rules use. Anything else that is not a label is the name of a metric. */
const words = new Set(["sum", "max", "rate", "increase", "by", "or", "and", "unless", "offset"])

/** Labels that Prometheus itself adds. */
const targetLabels = ["job", "instance"]

/** Values that labels may have, where their number is small. */
const labelValues: Readonly<Record<string, readonly string[]>> = {
  outcome: [...attemptOutcomes, "valid", "invalid", "unreachable"],
  state: ["complete", "incomplete"],
  job: ["sluice"],
  route: [paths.readyz],
}

/** Metrics of an expression, with the labels that each is asked for by. */
function selectors(expr: string): readonly { name: string; matchers: readonly [string, string, string][] }[] {
  const bare = expr.replaceAll(/\bby \([^)]*\)/g, "").replaceAll(/\[\d+[smhd]\]|\boffset \d+[smhd]/g, "")
  return [...bare.matchAll(/([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})?/g)].flatMap(([, name = "", inside = ""]) => {
    if (words.has(name)) return []
    const matchers = [...inside.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(
      ([, label = "", operator = "", value = ""]) => [label, operator, value] as [string, string, string],
    )
    return [{ name, matchers }]
  })
}

function isBalanced(expr: string): boolean {
  let depth = 0
  for (const character of expr.replaceAll(/"[^"]*"/g, "")) {
    if (character === "(") depth += 1
    if (character === ")") depth -= 1
    if (depth < 0) return false
  }
  return depth === 0
}

test("the alert rules are the expected ones", () => {
  expect(rules.map(({ alert }) => alert)).toEqual([
    "SluiceDeliveryLate",
    "SluiceRetentionNear",
    "SluiceMatchesMissed",
    "SluiceDeadLetters",
    "SluiceEndpointsDown",
    "SluiceWebhooksInvalid",
    "SluiceEveryDeliveryFails",
    "SluiceChallengesFail",
    "SluiceReplayIncomplete",
    "SluiceUnreachable",
    "SluiceResponsesFail",
    "SluiceNotReady",
    "SluiceFailures",
    "SluiceCannotSend",
    "SluiceSourceDisconnected",
    "SluiceSourceLate",
    "SluiceSourceGap",
  ])
  expect(new Set(groups.map(({ name }) => name)).size).toBe(groups.length)
})

describe.each(rules.map((rule) => [rule.alert, rule] as const))("%s", (_alert, rule) => {
  const found = selectors(rule.expr)

  test("an alert reads metrics that exist, by labels that they have and values that those may have", () => {
    expect(found.length).toBeGreaterThan(0)
    for (const { name, matchers } of found) {
      if (name !== "up") expect([...registered.keys()]).toContain(name)
      const labels = [...(registered.get(name)?.labels ?? []), ...targetLabels]
      for (const [label, operator, value] of matchers) {
        expect(labels).toContain(label)
        const values = operator === "=~" ? value.split("|") : [value]
        for (const one of values) if (label in labelValues) expect(labelValues[label]).toContain(one)
      }
    }
  })

  test("an alert compares with a threshold, and its parentheses close", () => {
    expect(rule.expr).toMatch(/ (>|==) \d/)
    expect(isBalanced(rule.expr)).toBe(true)
    if (rule.for !== undefined) expect(rule.for).toMatch(/^[1-9]\d*[smh]$/)
  })

  test("an alert sees what a counter has counted before its first scrape", () => {
    const blind = found.filter(({ name }) => {
      const { isCounter = false } = registered.get(name) ?? {}
      const isWatched = isCounter && rule.expr.includes(`increase(${name}`)
      return isWatched && !new RegExp(`unless ${name}(\\{[^}]*\\})? offset \\d+[mh]`).test(rule.expr)
    })
    expect(blind).toEqual([])
  })

  test("the texts of an alert name only labels that its result has", () => {
    expect(Object.keys(rule.labels)).toEqual(["severity"])
    expect(rule.labels.severity).toMatch(/^(critical|warning)$/)
    expect(Object.keys(rule.annotations)).toEqual(["summary", "description"])
    const grouped = /\bby \(([^)]*)\)/.exec(rule.expr)?.[1]?.split(/,\s*/)
    const labels = grouped ?? [...found.flatMap(({ name }) => registered.get(name)?.labels ?? []), ...targetLabels]
    const named = [
      ...Object.values(rule.annotations)
        .join(" ")
        .matchAll(/\{\{ ([^}]*) \}\}/g),
    ].map(([, one]) => one)
    expect(named.length).toBeGreaterThan(0)
    for (const one of named) {
      const label = /^\$labels\.(\w+)$/.exec(one ?? "")?.[1]
      if (label === undefined) expect(one).toMatch(/^\$value \| humanize(Duration|Percentage)?$/)
      else expect(labels).toContain(label)
    }
  })
})

test("an alert on a metric that does not exist is found", () => {
  expect(selectors('sum by (instance) (rate(sluice_x_total{outcome=~"a|b"}[5m])) / y > 0 unless z offset 1h')).toEqual([
    { name: "sluice_x_total", matchers: [["outcome", "=~", "a|b"]] },
    { name: "y", matchers: [] },
    { name: "z", matchers: [] },
  ])
  expect(registered.has("sluice_x_total")).toBe(false)
})

test("an alert warns well before matches are lost by default, and no earlier than matches are late", () => {
  const secondsOf = (alert: string): number =>
    Number(/> (\d+)$/.exec(rules.find((rule) => rule.alert === alert)?.expr ?? "")?.[1])
  expect(secondsOf("SluiceRetentionNear")).toBeLessThan(72 * 3_600)
  expect(secondsOf("SluiceRetentionNear")).toBeGreaterThan(secondsOf("SluiceDeliveryLate"))
})

test("every counter's name ends in _total, and no other metric's does", () => {
  const misnamed = [...registered].filter(([name, { isCounter }]) => name.endsWith("_total") !== isCounter)
  expect(misnamed.map(([name]) => name)).toEqual([])
})

describe("the dashboard", () => {
  const { panels } = JSON.parse(
    readFileSync(new URL("../../../../../deploy/grafana-dashboard.json", import.meta.url), "utf8"),
  ) as { panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[] }

  test.each(panels.map(({ title, targets }) => ({ title, targets })))(
    "$title asks for metrics that are there",
    ({ targets }) => {
      for (const { expr } of targets) {
        expect(isBalanced(expr)).toBe(true)
        const found = selectors(expr.replaceAll(/histogram_quantile\([\d.]+,|\bmax\b/g, ""))
        expect(found.length).toBeGreaterThan(0)
        for (const { name } of found) expect([...registered.keys(), ...ofProcess]).toContain(name)
        const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = ""]) => labels.split(", "))
        const known = found.flatMap(({ name }) => registered.get(name)?.labels ?? [])
        for (const label of grouped) expect([...known, ...targetLabels, "le"]).toContain(label)
      }
    },
  )
})

test("the scrape job has the name that alerts and dashboard expect", () => {
  const text = readFileSync(new URL("../../../../../deploy/prometheus.yaml", import.meta.url), "utf8")
  const { scrape_configs: jobs, rule_files: ruleFiles } = parse(text) as {
    scrape_configs: readonly { readonly job_name: string; readonly metrics_path: string }[]
    rule_files: readonly string[]
  }
  expect(jobs).toMatchObject([{ job_name: "sluice", metrics_path: paths.metrics }])
  expect(ruleFiles).toEqual(["prometheus-alerts.yaml"])
})
