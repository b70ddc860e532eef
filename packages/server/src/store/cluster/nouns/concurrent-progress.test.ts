/** Two processes that write to the same links at the same time. */
import { expect, test } from "vitest"
import type { LinkId, MatchSeq, WebhookId } from "../../../model/ids.ts"
import type { LinkProgress } from "../../../model/link.ts"
import { systemClock } from "../../../runtime/clock.ts"
import { addLink, aDeadMatch, allOlder, aMatch, anApp, aPost, app, aRetry } from "../../contract/fixtures.ts"
import { accountedOf, passedOf } from "../../contract/store-under-test.ts"
import type { Store } from "../../store.ts"
import { auditOf } from "../serving/audited.testing.ts"
import { openClusterStore } from "../serving/cluster-store.ts"
import type { LinkLease } from "../../leases.ts"
import { ClusterDatabase } from "../connection/database.ts"
import { createTestDatabase } from "../connection/postgres.testing.ts"

const links = ["31", "32", "33"] as LinkId[]
const matches = 120

/** Passes some matches, and settles some retries, as a process would that believes it drives the link. */
async function deliver(store: Store, linkId: LinkId, turn: number): Promise<void> {
  const position = (await store.linkTally(linkId))?.position ?? (0 as MatchSeq)
  const owed = (await store.retries(linkId, "core")).map(({ seq }) => seq)
  const passed = Array.from({ length: Math.min(6, matches - position) }, (_, index) => position + index + 1)
  const fate = (seq: number): number => (seq + turn) % 3
  await store.saveProgress([
    {
      linkId,
      position: (position + passed.length) as MatchSeq,
      retries: passed.filter((seq) => fate(seq) === 0).map((seq) => aRetry(seq)),
      settled: owed.filter((seq) => fate(seq) !== 0),
      dead: [...passed.filter((seq) => fate(seq) === 1), ...owed.filter((seq) => fate(seq) === 1)].map((seq) =>
        aDeadMatch(seq, seq),
      ),
      delivered: [...passed, ...owed].filter((seq) => fate(seq) === 2).length,
    },
  ])
}

async function interfere(store: Store, turn: number): Promise<void> {
  await store.trimMatches(app, { beforeMs: turn * 4, limit: 5 })
  await store.redeliverMatches(
    links.flatMap((linkId) => [turn, turn * 3, turn * 4].map((seq) => ({ linkId, seq: seq as MatchSeq }))),
  )
  await store.trimDeadLetters({ beforeMs: turn * 3, limit: 7 })
  await store.redeliver({ kind: "all", sinceMs: turn })
  await store.hastenRetries(String((turn % links.length) + 1) as WebhookId)
}

async function inTurns(turns: number, work: (turn: number) => Promise<void>): Promise<void> {
  for (let turn = 1; turn <= turns; turn += 1) await work(turn)
}

/** Delivers or gives up all that is left, and trims all. */
async function finish(store: Store): Promise<void> {
  for (const linkId of links) {
    const settled = (await store.retries(linkId, "core")).map(({ seq }) => seq)
    await store.saveProgress([
      { linkId, position: matches as MatchSeq, retries: [], settled, dead: [], delivered: matches },
    ])
  }
  while (!(await store.trimMatches(app, { beforeMs: matches + 1, limit: 50 })).isDone);
  while ((await store.trimDeadLetters({ beforeMs: matches + 1, limit: 50 })) > 0);
}

test("every match is in exactly one state, and no match is left that no link needs", async () => {
  await using database = await createTestDatabase()
  const settings = { url: database.url, poolMax: 8, statementMsMax: 30_000 }
  await using first = await openClusterStore(settings, { sender: "first", clock: systemClock })
  await using second = await openClusterStore(settings, { sender: "second", clock: systemClock })
  const stores = [first, second]
  await first.createApp(anApp(app), [])
  for (const [index, linkId] of links.entries()) await addLink(first, app, { linkId, webhookId: `${index + 1}` })
  for (let seq = 1; seq <= matches; seq += 1) {
    await first.append([{ post: aPost(String(seq)), matches: [aMatch(app, "5")] }], seq)
  }

  await Promise.all(
    stores.flatMap((store) => [
      inTurns(25, (turn) => interfere(store, turn)),
      ...links.map((linkId) => inTurns(25, (turn) => deliver(store, linkId, turn))),
    ]),
  )
  const { damage, links: tallies } = await auditOf(settings)
  expect(damage).toEqual([])
  for (const tally of tallies) expect(accountedOf(tally)).toBe(passedOf(tally))

  await finish(first)
  expect(await first.deadLetters({}, allOlder)).toEqual([])
  await using raw = new ClusterDatabase(settings, () => undefined)
  expect(await raw.rows("SELECT seq FROM matches ORDER BY seq")).toEqual([])
  for (const tally of (await auditOf(settings)).links) expect(accountedOf(tally)).toBe(passedOf(tally))
})

test("concurrent deliveries alone are counted once each, and a process without the lease saves nothing", async () => {
  await using database = await createTestDatabase()
  const settings = { url: database.url, poolMax: 8, statementMsMax: 30_000 }
  await using store = await openClusterStore(settings, { sender: "one", clock: systemClock })
  await using raw = new ClusterDatabase(settings, () => undefined)
  await store.createApp(anApp(app), [])
  for (const [index, linkId] of links.entries()) await addLink(store, app, { linkId, webhookId: `${index + 1}` })
  await store.append(
    Array.from({ length: matches }, (_, index) => ({ post: aPost(String(index + 1)), matches: [aMatch(app, "5")] })),
    1,
  )
  await raw.run("UPDATE links SET lease = 7")
  const save = (all: readonly LinkId[], position: number, lease?: number): Promise<readonly LinkLease[]> =>
    store.saveProgress(
      all.map((linkId) => ({
        linkId,
        position: position as MatchSeq,
        retries: [],
        settled: [],
        dead: [],
        delivered: position,
        ...(lease !== undefined && { lease }),
      })),
    )

  expect(await save(links, matches, 6)).toEqual(links.map((linkId) => ({ linkId, lease: 6 })))
  const positions = Array.from({ length: matches }, (_, index) => index + 1)
  const saved = positions.map((position) => save(position % 2 === 0 ? links : links.toReversed(), position, 7))
  expect((await Promise.all(saved)).flat()).toEqual([])
  expect(await save(["39" as LinkId], matches, 7)).toEqual([])
  for (const linkId of links) {
    expect(await store.linkTally(linkId)).toMatchObject({ position: matches, delivered: matches })
  }
})

test("retries, dead letters and settled retries are saved only by the process with the lease", async () => {
  await using database = await createTestDatabase()
  const settings = { url: database.url, poolMax: 2, statementMsMax: 30_000 }
  await using store = await openClusterStore(settings, { sender: "one", clock: systemClock })
  await using raw = new ClusterDatabase(settings, () => undefined)
  await store.createApp(anApp(app), [])
  for (const [index, linkId] of links.entries()) await addLink(store, app, { linkId, webhookId: `${index + 1}` })
  const posts = Array.from({ length: 9 }, (_, index) => aPost(String(index + 1)))
  await store.append(
    posts.map((post) => ({ post, matches: [aMatch(app, "5")] })),
    1,
  )
  await raw.run("UPDATE links SET lease = 7")
  const passed = (linkId: LinkId, lease: number): LinkProgress => {
    const none = { settled: [], delivered: 0 }
    return { ...none, linkId, lease, position: 2 as MatchSeq, retries: [aRetry(1)], dead: [aDeadMatch(2)] }
  }
  const [one, two, three] = links as [LinkId, LinkId, LinkId]
  expect(await store.saveProgress([passed(one, 7), passed(two, 6), passed(three, 8)])).toEqual([
    { linkId: two, lease: 6 },
    { linkId: three, lease: 8 },
  ])
  const settled = { ...passed(one, 6), retries: [], dead: [], settled: [1 as MatchSeq] }
  expect(await store.saveProgress([settled])).toEqual([{ linkId: one, lease: 6 }])
  expect(await store.linkTally(one)).toMatchObject({ position: 2, retries: 1, deadLetters: 1 })
  for (const linkId of [two, three]) {
    expect(await store.linkTally(linkId)).toMatchObject({ position: 0, retries: 0, deadLetters: 0 })
  }
})
