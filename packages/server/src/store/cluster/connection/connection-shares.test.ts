import { expect, test } from "vitest"
import { setImmediate as nextTurn } from "node:timers/promises"
import { logReader, requestOf, type Reader } from "../../readers.ts"
import { ConnectionShares } from "./connection-shares.ts"

/** Calls that go on until they are ended, and the names of those that have begun. */
function calls(connections: number) {
  const shares = new ConnectionShares(connections)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  return {
    begun,
    begin: async (name: string, reader: Reader): Promise<void> => {
      void shares.run(reader, () => {
        begun.push(name)
        return new Promise<void>((resolve) => ends.set(name, resolve))
      })
      await nextTurn()
    },
    end: async (name: string): Promise<void> => {
      ends.get(name)?.()
      await nextTurn()
    },
  }
}

test("an app whose calls never end leaves a connection to other apps and one to readers of logs", async () => {
  const { begun, begin } = calls(5)
  for (let at = 0; at < 20; at += 1) await begin(`a${at}`, requestOf("a"))
  expect(begun).toHaveLength(3)
  await begin("b", requestOf("b"))
  await begin("log", logReader("a"))
  expect(begun.slice(3)).toEqual(["b", "log"])
})

test("requests of any number of apps leave a connection to readers of logs, and these one to requests", async () => {
  const requests = calls(5)
  for (let at = 0; at < 20; at += 1) await requests.begin(`${at}`, requestOf(`app ${at}`))
  expect(requests.begun).toHaveLength(4)
  await requests.begin("log", logReader("a"))
  expect(requests.begun.at(-1)).toBe("log")
  const logs = calls(5)
  for (let at = 0; at < 20; at += 1) await logs.begin(`${at}`, logReader(`app ${at}`))
  expect(logs.begun).toHaveLength(4)
  await logs.begin("request", requestOf("a"))
  expect(logs.begun.at(-1)).toBe("request")
})

test("calls that wait begin in turn by app, as soon as there is room", async () => {
  const { begun, begin, end } = calls(2)
  await begin("a0", requestOf("a"))
  for (const name of ["a1", "a2", "a3"]) await begin(name, requestOf("a"))
  await begin("b0", requestOf("b"))
  for (const name of ["a0", "a1", "b0"]) await end(name)
  expect(begun).toEqual(["a0", "a1", "b0", "a2"])
})

test("a call that fails gives its connection back", async () => {
  const shares = new ConnectionShares(2)
  const failing = shares.run(requestOf("a"), () => Promise.reject(new Error("lost")))
  await expect(failing).rejects.toThrow("lost")
  await expect(shares.run(requestOf("a"), async () => "done")).resolves.toBe("done")
})

test("a request's result waits for its turn and keeps the share until then; a reader of a log does not wait", async () => {
  const turns: { readonly owner: string; readonly take: () => void }[] = []
  const turn = (owner: string): Promise<void> => new Promise((take) => turns.push({ owner, take }))
  const shares = new ConnectionShares(3, { turn })
  const results: string[] = []
  const begin = (name: string, reader: Reader): void => {
    void shares.run(reader, () => Promise.resolve(name)).then((result) => results.push(result))
  }
  begin("a1", requestOf("a"))
  begin("a2", requestOf("a"))
  begin("log", logReader("a"))
  await nextTurn()
  expect(results).toEqual(["log"])
  expect(turns.map(({ owner }) => owner)).toEqual(["a"])
  turns[0]?.take()
  await nextTurn()
  expect(results).toEqual(["log", "a1"])
  expect(turns).toHaveLength(2)
})
