/**
 * The list of webhook links: requests per second with authentication, limits and validation on, against bare
 * `node:http` with `JSON.stringify`, and against bare Fastify, which answer the same JSON.
 *
 * Source of the goal: 0.6 of bare `node:http`.
 */
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { figure, median, quantile, type Bench } from "./figure.ts"
import { load, type Load } from "./load.ts"
import { startBare, startSluice, type MeasuredSluice } from "./servers.ts"

const path = "/2/tweets/search/webhooks"
const rounds = 5
const warmUpSeconds = 5
const seconds = 3
const connections = 64

/** Prints the figures of the link list. */
export const links: Bench = async (print) => {
  await using sluice = await startSluice()
  const headers = { Authorization: `Bearer ${sluice.token}` }
  await linkTwoWebhooks(sluice)
  const body = await (await fetch(sluice.url + path, { headers })).text()
  await using bareNode = await startBare("node-stringify", body)
  await using bareFastify = await startBare("fastify", body)

  const servers = {
    sluice: { port: sluice.port, path, headers, connections },
    node: { port: bareNode.port, path, connections },
    fastify: { port: bareFastify.port, path, connections },
  }
  const seen: Record<keyof typeof servers, Load[]> = { sluice: [], node: [], fastify: [] }
  const names = Object.keys(servers) as (keyof typeof servers)[]
  for (const name of names) await load({ ...servers[name], seconds: warmUpSeconds })
  for (let round = 0; round < rounds; round++) {
    for (const name of names) seen[name].push(await load({ ...servers[name], seconds }))
  }

  const perSecond = (name: keyof typeof servers): number => median(seen[name].map((one) => one.perSecond))
  const p99 = (name: keyof typeof servers): number =>
    median(seen[name].map((one) => quantile(one.latenciesMs, 0.99)))
  const unit = "requests/s"
  print(
    figure(
      {
        name: "links",
        value: perSecond("sluice"),
        unit,
        limit: perSecond("node"),
        limitIs: "bare node:http + JSON.stringify",
      },
      { atLeast: 0.6 },
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
    figure({
      name: "links-p99",
      value: p99("sluice"),
      unit: "ms",
      limit: p99("node"),
      limitIs: "bare node:http + JSON.stringify",
    }),
  )
}

/** Registers two webhooks at a receiver of our own, which answers their challenges, and links them. */
async function linkTwoWebhooks({ url, token, consumerSecret }: MeasuredSluice): Promise<void> {
  const receiver = createServer((request, response) => {
    const challenge = new URL(request.url ?? "/", "http://receiver").searchParams.get("crc_token") ?? ""
    const answer = createHmac("sha256", consumerSecret).update(challenge).digest("base64")
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ response_token: `sha256=${answer}` }))
  })
  receiver.listen(0, "127.0.0.1")
  await once(receiver, "listening")
  const { port } = receiver.address() as AddressInfo
  const headers = { Authorization: `Bearer ${token}`, "content-type": "application/json" }
  for (const name of ["one", "two"]) {
    const created = await fetch(`${url}/2/webhooks`, {
      method: "POST",
      headers,
      body: JSON.stringify({ url: `http://127.0.0.1:${port}/${name}` }),
    })
    const { data } = (await created.json()) as { data: { id: string } }
    const query = "?expansions=author_id&user.fields=username,name"
    const linked = await fetch(`${url}${path}/${data.id}${query}`, { method: "POST", headers })
    if (!linked.ok) throw new Error(`linking failed: ${await linked.text()}`)
  }
  receiver.close()
}
