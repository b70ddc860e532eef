import { describe, expect, test } from "vitest"
import type { StreamConnection } from "../../model/connection.ts"
import type { AppId, ConnectionId } from "../../model/ids.ts"
import { connectionsKeptMax } from "../bounds.ts"
import { allOlder, app, other } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

const uuidOf = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`

/** A connection of a number, which is open. */
function aConnection(number: number, appId: AppId = app, more: Partial<StreamConnection> = {}): StreamConnection {
  return {
    id: String(number) as ConnectionId,
    uuid: uuidOf(number),
    appId,
    endpoint: "filtered_stream",
    clientIp: "127.0.0.1",
    connectedAtMs: number,
    ...more,
  }
}

/** Every store's behaviour for the history of stream connections. */
export function connectionContract(make: MakeStore): void {
  describe("the history of stream connections", () => {
    const { store, reopen, audit } = useStore(make)

    const save = (...opened: readonly StreamConnection[]): Promise<void> => store.saveConnections({ opened, ended: [] })
    const all = (appId: AppId = app): Promise<readonly StreamConnection[]> => store.connectionPage({ appId }, allOlder)
    const idsOf = async (filter = {}, range = {}): Promise<readonly string[]> =>
      (await store.connectionPage({ appId: app, ...filter }, { ...allOlder, ...range })).map(({ id }) => id)
    const forced = { atMs: 50, reason: "ForceDisconnect" } as const

    test("lists connections as they opened and ended, the newest first, of one app", async () => {
      await save(aConnection(1), aConnection(2, other), aConnection(3))
      const ended = { atMs: 9, reason: "ClientDisconnected" } as const
      await store.saveConnections({ opened: [aConnection(4)], ended: [{ uuid: uuidOf(1), ...ended }] })
      await reopen()
      expect(await all()).toEqual([aConnection(4), aConnection(3), aConnection(1, app, { ended })])
      expect(await all(other)).toEqual([aConnection(2, other)])
      expect((await audit()).damage).toEqual([])
    })

    test("lists open or ended connections, or those to some endpoints, page by page", async () => {
      await save(aConnection(1), aConnection(2, app, { endpoint: "sample_stream" }), aConnection(3))
      await store.saveConnections({ opened: [], ended: [{ uuid: uuidOf(3), ...forced }] })
      expect(await idsOf({ isOpen: true })).toEqual(["2", "1"])
      expect(await idsOf({ isOpen: false })).toEqual(["3"])
      expect(await idsOf({ endpoints: ["sample_stream", "sample10_stream"] })).toEqual(["2"])
      expect(await idsOf({}, { limit: 2 })).toEqual(["3", "2"])
      expect(await idsOf({}, { limit: 2, from: "2" })).toEqual(["1"])
      expect(await idsOf({}, { direction: "newer", from: "1", limit: 1 })).toEqual(["2"])
    })

    test("keeps the first end of a connection, and ignores the end of one that it does not have", async () => {
      await save(aConnection(1))
      await store.saveConnections({ opened: [], ended: [{ uuid: uuidOf(1), ...forced }] })
      const later = { atMs: 60, reason: "ClientDisconnected" } as const
      await store.saveConnections({
        opened: [aConnection(1)],
        ended: [1, 2].map((n) => ({ uuid: uuidOf(n), ...later })),
      })
      expect(await all()).toEqual([aConnection(1, app, { ended: forced })])
    })

    test("ends open connections of one app: by UUIDs, to an endpoint, or all", async () => {
      await save(aConnection(1), aConnection(2, app, { endpoint: "sample_stream" }), aConnection(3), aConnection(4))
      await save(aConnection(5, other))
      const uuids = [uuidOf(1), uuidOf(5), uuidOf(9), "not a uuid"]
      expect(await store.endConnections(app, { kind: "uuids", uuids }, forced)).toEqual([uuidOf(1)])
      expect(await store.endConnections(app, { kind: "uuids", uuids }, forced)).toEqual([])
      const endpoint = "sample_stream"
      expect(await store.endConnections(app, { kind: "endpoint", endpoint }, forced)).toEqual([uuidOf(2)])
      expect((await store.endConnections(app, { kind: "all" }, forced)).toSorted()).toEqual([uuidOf(3), uuidOf(4)])
      expect((await all()).map(({ ended }) => ended)).toEqual([forced, forced, forced, forced])
      expect(await all(other)).toEqual([aConnection(5, other)])
    })

    test("notes the end of connections that no process holds, and takes a later word on how they ended", async () => {
      await save(aConnection(1), aConnection(2), aConnection(3, other))
      await store.endLostConnections([uuidOf(2)], 40)
      const lost = { atMs: 40, reason: "UpstreamUncleanDisconnect" } as const
      expect(await all()).toEqual([aConnection(2), aConnection(1, app, { ended: lost })])
      expect(await all(other)).toEqual([aConnection(3, other, { ended: lost })])
      await store.saveConnections({ opened: [], ended: [{ uuid: uuidOf(1), ...forced }] })
      expect((await all()).at(-1)).toEqual(aConnection(1, app, { ended: forced }))
    })

    test("forgets connections that ended before a time, a limited number at a time, and no open one", async () => {
      await save(...[1, 2, 3, 4].map((number) => aConnection(number)))
      const ended = [1, 2, 3].map((number) => ({
        uuid: uuidOf(number),
        atMs: number * 10,
        reason: "SlowReader" as const,
      }))
      await store.saveConnections({ opened: [], ended })
      const trim = (limit: number) => store.trimConnections({ beforeMs: 30, keptMax: 10, limit })
      expect(await trim(1)).toBe(1)
      expect(await idsOf()).toEqual(["4", "3", "2"])
      expect(await trim(10)).toBe(1)
      expect(await trim(10)).toBe(0)
      expect(await idsOf()).toEqual(["4", "3"])
    })

    test("forgets the connections of all apps that ended first, beyond a number, and no open one", async () => {
      const ended = (atMs: number) => ({ ended: { atMs, reason: "SlowReader" as const } })
      await save(
        aConnection(1, app, ended(40)),
        aConnection(2, other, ended(10)),
        aConnection(3),
        aConnection(4, other),
      )
      await save(aConnection(5, app, ended(20)), aConnection(6, other, ended(30)))
      const trim = (keptMax: number, limit: number) => store.trimConnections({ beforeMs: 0, keptMax, limit })
      expect(await trim(4, 10)).toBe(0)
      expect(await trim(2, 1)).toBe(1)
      expect([await idsOf(), (await all(other)).map(({ id }) => id)]).toEqual([
        ["5", "3", "1"],
        ["6", "4"],
      ])
      expect(await trim(1, 10)).toBe(2)
      expect([await idsOf(), (await all(other)).map(({ id }) => id)]).toEqual([["3", "1"], ["4"]])
    })

    test("keeps the newest 1,000 connections of an app, and older ones that are open", async () => {
      const ended = { atMs: 5, reason: "ClientDisconnected" } as const
      await save(aConnection(1), aConnection(2, other, { ended }))
      await save(...Array.from({ length: connectionsKeptMax + 3 }, (_, at) => aConnection(at + 10, app, { ended })))
      const ids = await idsOf({}, { limit: 2_000 })
      expect(ids).toHaveLength(connectionsKeptMax + 1)
      expect([ids[0], ids.at(-2), ids.at(-1)]).toEqual([String(connectionsKeptMax + 12), "13", "1"])
      expect(await all(other)).toHaveLength(1)
    })
  })
}
