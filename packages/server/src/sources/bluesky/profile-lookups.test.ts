/** Handles and profiles of authors, from a server that answers as an AppView does. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { paths } from "@sluice/api"
import { expect, test } from "vitest"
import { openStream } from "../../../../../test/support/open-stream.testing.ts"
import { sourceState, startServerWith } from "../server-with-sources.testing.ts"
import { postCommit, startJetstream } from "./jetstream-server.testing.ts"

interface AppView extends AsyncDisposable {
  readonly url: string
  /** The authors of each request. */
  readonly asked: readonly (readonly string[])[]
}

/** Starts one that answers with `status`, and knows everybody but authors that end in `x`. */
async function startAppView(status: () => number): Promise<AppView> {
  const asked: (readonly string[])[] = []
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://127.0.0.1")
    if (pathname !== "/xrpc/app.bsky.actor.getProfiles") return response.writeHead(404).end()
    const dids = searchParams.getAll("actors")
    asked.push(dids)
    const profiles = dids
      .filter((did) => !did.endsWith("x"))
      .map((did) => ({
        did,
        handle: `${did.slice(8, 12)}.example`,
        displayName: "A bird",
        avatar: "https://cdn.example/a.jpg",
      }))
    return response.writeHead(status(), { "retry-after": "0" }).end(JSON.stringify({ profiles }))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, "close")
    },
  }
}

const did = (name: string): string => `did:plc:${name.padEnd(24, "2")}`

test("authors are looked up many at a time, once, and later posts have their names", async () => {
  await using jetstream = await startJetstream()
  await using appView = await startAppView(() => 200)
  const settings = { name: "sky", type: "bluesky", urls: [jetstream.url], profiles: appView.url }
  await using server = await startServerWith([settings])
  await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
  await using reader = await openStream(server, "?expansions=author_id&user.fields=profile_image_url")
  await expect.poll(() => jetstream.open).toBe(1)
  const us = Date.now() * 1_000
  const authors = Array.from({ length: 60 }, (_, at) =>
    did(`b${String.fromCodePoint(97 + (at % 26))}${(at % 6) + 2}${Math.floor(at / 26) + 2}`),
  )
  for (const [at, author] of authors.entries()) jetstream.emit(postCommit("a heron", us + at * 1_000, author))
  const first = await reader.next()
  expect(first.includes?.users).toMatchObject([{ username: authors[0] }])
  await expect.poll(() => appView.asked.flat().toSorted()).toEqual([...new Set(authors)].toSorted())
  for (const dids of appView.asked) expect(dids.length).toBeLessThanOrEqual(25)
  const requests = appView.asked.length
  // Profiles are taken with the next frames.
  await expect
    .poll(
      async () => {
        jetstream.emit(postCommit("another heron", Date.now() * 1_000, authors[0]))
        for (;;) {
          const { data, includes } = await reader.next()
          if (data.text === "another heron") return includes?.users
        }
      },
      { interval: 100 },
    )
    .toMatchObject([{ username: "ba22.example", name: "A bird", profile_image_url: "https://cdn.example/a.jpg" }])
  expect(appView.asked).toHaveLength(requests)
})

test("an AppView that fails keeps no post away, and its failure is shown", async () => {
  await using jetstream = await startJetstream()
  await using appView = await startAppView(() => 503)
  const settings = { name: "sky", type: "bluesky", urls: [jetstream.url], profiles: appView.url }
  await using server = await startServerWith([settings])
  await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
  await using reader = await openStream(server, "?expansions=author_id")
  await expect.poll(() => jetstream.open).toBe(1)
  jetstream.emit(postCommit("a heron", Date.now() * 1_000))
  const { includes } = await reader.next()
  expect(includes?.users?.[0]?.username).toMatch(/^did:plc:/)
  const message = expect.stringContaining("handles of authors cannot be looked up")
  await expect.poll(() => sourceState(server, "sky")).toMatchObject({ notices: [{ message }] })
  jetstream.emit(postCommit("another heron", Date.now() * 1_000))
  expect((await reader.next()).data.text).toBe("another heron")
  expect(appView.asked).toHaveLength(1)
})
