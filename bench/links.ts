/**
 * The list of webhook links: requests per second with authentication, limits and validation on, against bare
 * `node:http` with `JSON.stringify`, and against bare Fastify, which return the same JSON.
 *
 * Source of the goals: 0.7 of bare `node:http`, and twice its p99.
 */
import { paths } from "../packages/api/src/paths.ts"
import { linkWebhooks } from "./app-client.ts"
import { startEndpoints } from "./endpoints.ts"
import { figure, median, quantile, type Bench } from "./figure.ts"
import { load, type Load } from "./load.ts"
import { startBare, startSluice } from "./servers.ts"

const path = paths.links
const rounds = 5
const warmUpSeconds = 5
const seconds = 3
const connections = 64

/** The profile that counts the most, with a bound that is not reached. */
const limits = { SLUICE_LIMITS: "x-pay-per-use", SLUICE_REQUEST_BOUNDS: `GET ${path} app 999999999` }

/** Prints the figures of the link list. */
export const links: Bench = async (print) => {
  await using sluice = await startSluice()
  await using limited = await startSluice({ settings: limits })
  const headers = { Authorization: `Bearer ${sluice.token}` }
  for (const one of [sluice, limited]) {
    await using endpoints = await startEndpoints(2, one.consumerSecret, () => undefined)
    await linkWebhooks(one, endpoints.urls, "?expansions=author_id&user.fields=username,name")
  }
  const body = await (await fetch(sluice.url + path, { headers })).text()
  await using bareNode = await startBare("node-stringify", body)
  await using bareFastify = await startBare("fastify", body)

  const servers = {
    sluice: { port: sluice.port, path, headers, connections },
    limited: { port: limited.port, path, headers: { Authorization: `Bearer ${limited.token}` }, connections },
    node: { port: bareNode.port, path, connections },
    fastify: { port: bareFastify.port, path, connections },
  }
  const seen: Record<keyof typeof servers, Load[]> = { sluice: [], limited: [], node: [], fastify: [] }
  const names = Object.keys(servers) as (keyof typeof servers)[]
  for (const name of names) await load({ ...servers[name], seconds: warmUpSeconds })
  for (let round = 0; round < rounds; round++) {
    for (const name of names) seen[name].push(await load({ ...servers[name], seconds }))
  }

  const perSecond = (name: keyof typeof servers): number => median(seen[name].map((one) => one.perSecond))
  const p99 = (name: keyof typeof servers): number => median(seen[name].map((one) => quantile(one.latenciesMs, 0.99)))
  const unit = "requests/s"
  print(
    figure(
      {
        name: "links within limits",
        value: perSecond("limited"),
        unit,
        limit: perSecond("sluice"),
        limitIs: "the same without limits",
      },
      { atLeast: 0.95 },
    ),
  )
  print(
    figure(
      {
        name: "links",
        value: perSecond("sluice"),
        unit,
        limit: perSecond("node"),
        limitIs: "bare node:http + JSON.stringify",
      },
      { atLeast: 0.7 },
    ),
  )
  print(
    figure({
      name: "links-fastify",
      value: perSecond("sluice"),
      unit,
      limit: perSecond("fastify"),
      limitIs: "bare Fastify",
    }),
  )
  print(
    figure(
      {
        name: "links-p99",
        value: p99("sluice"),
        unit: "ms",
        limit: p99("node"),
        limitIs: "bare node:http + JSON.stringify",
      },
      { atMost: 2 },
    ),
  )
}
