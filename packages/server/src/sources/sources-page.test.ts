/** docs/sources.md names every setting and every metric of a source, and no others. */
import { readFileSync } from "node:fs"
import { pino } from "pino"
import { Registry } from "prom-client"
import { expect, test } from "vitest"
import { loadConfig, printConfig } from "../config.ts"
import { rabbitMqSettings } from "./rabbitmq-settings.ts"
import { redisSettings } from "./redis-settings.ts"
import { createEvents } from "../runtime/events/recorded-events.ts"

const page = readFileSync(new URL("../../../../docs/sources.md", import.meta.url), "utf8")

/** The first cells of the rows of a section. */
function rowsOf(title: string): readonly string[] {
  const section = page.split(/^##+ /m).find((text) => text.startsWith(`${title}\n`)) ?? ""
  return Array.from(section.matchAll(/^\| `([\w-]+)`/gm), ([, name = ""]) => name).toSorted()
}

test("the page lists the settings of a source with their defaults", () => {
  const printed = printConfig({ posture: "serve", env: {} })
  const names = Array.from(printed.matchAll(/^nats\w+/gm), ([name]) => name)
  expect(rowsOf("Settings of NATS")).toEqual(names.toSorted())
  const { natsConsumer, natsDeadLetterSubject } = loadConfig({ posture: "serve", env: {} })
  expect(page).toMatch(new RegExp(`^\\| \`natsConsumer\` +\\| \`${natsConsumer}\` `, "m"))
  expect(page).toMatch(new RegExp(`^\\| \`natsDeadLetterSubject\` +\\| \`${natsDeadLetterSubject}\` `, "m"))
})

test.each([
  ["Redis", redisSettings],
  ["RabbitMQ", rabbitMqSettings],
] as const)("the page lists the members of a source of %s, with their defaults", (title, settingsOf) => {
  const url = title === "Redis" ? "redis://127.0.0.1" : "amqp://127.0.0.1"
  const least = { name: "posts", type: "any", url, stream: "posts", queue: "posts" }
  // The refusal of a member names all that there are, but not the type that chooses the source.
  const { stream, queue, ...common } = least
  const own = title === "Redis" ? { ...common, stream } : { ...common, queue }
  const refusal = () => settingsOf({ ...own, unknown: 1 }, {})
  const known = [...rowsOf(`Settings of ${title}`), "type"].toSorted().join(", ")
  expect(refusal).toThrow(`it may have ${known}.`)
  const defaults = Object.entries(settingsOf(own, {})).filter(([name]) => !(name in own))
  for (const [name, value] of defaults) {
    if (value === undefined) continue
    const shown = String(value).replace("posts", title === "Redis" ? "STREAM" : "QUEUE")
    expect(page).toMatch(new RegExp(`^\\| \`${name}\` +\\| \`?${shown}\`? `, "m"))
  }
})

test("the page lists the metrics of a source", () => {
  const registry = new Registry()
  createEvents(pino({ enabled: false }), registry)
  const names = registry.getMetricsAsArray().map(({ name }) => name)
  const own = names.filter((name) => name.startsWith("sluice_source_"))
  expect(rowsOf("Metrics")).toEqual([...own, "sluice_failures_total"].toSorted())
})
