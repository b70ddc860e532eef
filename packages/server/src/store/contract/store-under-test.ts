/** A fresh store for each test of the contract. */
import { afterEach, beforeEach, expect } from "vitest"
import type { AppId, LinkId, MatchSeq } from "../../model/ids.ts"
import type { LinkTally, LinkToDeliver, Retry } from "../../model/link.ts"
import type { Store } from "../store.ts"
import type { StoreAudit } from "../store-audit.ts"
import { addLink, allOlder, aMatch, anApp, aPost, app, aToken, link, other } from "./fixtures.ts"

/** A way to a store that is empty at first and keeps what it was given. */
export interface StoreUnderTest extends AsyncDisposable {
  /** Opens the store: the same one each time. One is closed before the next is opened. */
  open(): Promise<Store>
  /** Audits everything, also while the store is open. */
  audit(): Promise<StoreAudit>
}

/** Makes a store that is empty. */
export type MakeStore = () => Promise<StoreUnderTest>

interface StoreInUse {
  /** The store as it is open now. */
  readonly store: Store
  /** Closes the store and opens it again. */
  readonly reopen: () => Promise<void>
  readonly audit: () => Promise<StoreAudit>
}

/** Before each test of the surrounding block: a store with the apps `app` and `other`, and a token of each. */
export function useStore(make: MakeStore): StoreInUse {
  let under: StoreUnderTest
  let opened: Store

  beforeEach(async () => {
    under = await make()
    opened = await under.open()
    await opened.createApp(anApp(app), [aToken(app, 1)])
    await opened.createApp(anApp(other), [aToken(other, 2)])
  })

  afterEach(async () => {
    await opened[Symbol.asyncDispose]()
    await under[Symbol.asyncDispose]()
  })

  return {
    store: new Proxy({} as Store, {
      get: (_, name) => (opened[name as keyof Store] as (...args: never) => unknown).bind(opened),
    }),
    async reopen() {
      await opened[Symbol.asyncDispose]()
      opened = await under.open()
    },
    audit: () => under.audit(),
  }
}

/** As `useStore`, with `link` from `app` to `webhook`, and link 32 from `other` to webhook 2. */
export function useDeliveries(make: MakeStore) {
  const { store, reopen, audit } = useStore(make)
  let lastPost = 0

  beforeEach(async () => {
    lastPost = 0
    await addLink(store, app, { linkId: "31", webhookId: "1" })
    await addLink(store, other, { linkId: "32", webhookId: "2" })
  })

  return {
    store,
    reopen,
    audit,

    /** Appends one post for each of these moments, a match of the apps. */
    appendAt: async (appIds: readonly AppId[], ...timesMs: readonly number[]): Promise<void> => {
      for (const atMs of timesMs) {
        lastPost += 1
        const matches = appIds.map((appId) => aMatch(appId, "5"))
        await store.append([{ post: aPost(String(lastPost)), matches }], atMs)
      }
    },

    linkNow: async (id: LinkId = link): Promise<LinkToDeliver | undefined> => {
      return (await store.allLinks()).find((found) => found.id === id)
    },

    /** Positions of the matches that can be read after a position. */
    readable: async (appId: AppId, after = 0): Promise<readonly number[]> => {
      const range = {
        appId,
        after: after as MatchSeq,
        limit: 100,
        bytesMax: 1_000_000,
        shape: "core",
      } as const
      return (await store.matches(range)).map(({ seq }) => seq)
    },

    retries: async (linkId: LinkId = link): Promise<readonly Retry[]> => {
      const found = await store.retries(linkId, "core")
      return found.map(({ seq, failures, dueAtMs }) => ({ seq, failures, dueAtMs }))
    },

    /** Positions of all dead letters, the newest first. */
    deadSeqs: async (): Promise<readonly number[]> => {
      return (await store.deadLetters({}, allOlder)).map(({ seq }) => seq)
    },

    /** Expects that every match which a link's cursor has passed is accounted for. */
    expectAccounted: async (): Promise<void> => {
      const { damage, links } = await audit()
      // The audit compares each link's counts with its rows.
      expect(damage.filter((text) => text.startsWith("links:"))).toEqual([])
      for (const tally of links) expect(accountedOf(tally)).toBe(passedOf(tally))
    },
  }
}

/** How many matches the cursor of a link has passed. */
export function passedOf({ position, firstPosition }: LinkTally): number {
  return position - firstPosition
}

/** How many matches the counts of a link account for. */
export function accountedOf({ delivered, retries, deadLetters, expired, missed, withdrawn }: LinkTally): number {
  return delivered + retries + deadLetters + expired + missed + withdrawn
}
