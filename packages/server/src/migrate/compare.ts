/** Compares the contents of a store and its copy, number by number. */
import type { LinkTally } from "../model/link.ts"
import type { StoreAudit } from "../store/store-audit.ts"
import type { StoredTableName } from "../store/stored-rows.ts"

/** A store, counted. */
export interface CountedStore {
  readonly audit: StoreAudit
  readonly counts: ReadonlyMap<StoredTableName, number>
}

/** A number of the store, and that of its copy. */
export interface ComparedNumber {
  readonly name: string
  readonly from: number
  readonly to: number
}

/** A store and its copy. */
export interface Comparison {
  /** Numbers of all tables, all logs and all links together. */
  readonly numbers: readonly ComparedNumber[]
  /** The differences, one sentence each; empty when all is equal, log by log and link by link. */
  readonly differences: readonly string[]
}

/** Compares a store with its copy. */
export function compare(from: CountedStore, to: CountedStore): Comparison {
  const numbers = [...numbersOf(from)].map(([name, number]) => ({
    name,
    from: number,
    to: numbersOf(to).get(name) ?? 0,
  }))
  const [logs, copiedLogs] = [from.audit.logs, new Map(to.audit.logs.map((log) => [log.appId, log]))]
  const [links, copiedLinks] = [from.audit.links, new Map(to.audit.links.map((link) => [link.linkId, link]))]
  return {
    numbers,
    differences: [
      ...to.audit.damage,
      ...numbers
        .filter((one) => one.from !== one.to)
        .map((one) => `${one.name}: ${one.from}, and ${one.to} in the copy`),
      ...logs.flatMap((log) => differencesOf(`the log of app ${log.appId}`, log, copiedLogs.get(log.appId))),
      ...links.flatMap((link) => differencesOf(`link ${link.linkId}`, link, copiedLinks.get(link.linkId))),
    ],
  }
}

function differencesOf<Row extends object>(name: string, row: Row, copy: Row | undefined): readonly string[] {
  if (copy === undefined) return [`${name} is not in the copy`]
  return (Object.keys(row) as (keyof Row & string)[])
    .filter((key) => row[key] !== copy[key])
    .map((key) => `${name} has ${key} ${String(row[key])}, and ${String(copy[key])} in the copy`)
}

/** The numbers, in the order in which they are shown. */
function numbersOf({ audit: { posts, logs, links }, counts }: CountedStore): ReadonlyMap<string, number> {
  const ofLinks = (key: keyof LinkTally & ("delivered" | "expired" | "missed" | "withdrawn" | "position")): number =>
    sum(links.map((link) => link[key]))
  return new Map([
    ...Array.from(counts, ([name, count]) => [name.replaceAll("_", " "), count] as const),
    ["posts ever accepted", posts.accepted],
    ["posts trimmed", posts.trimmed],
    ["heads of match logs", sum(logs.map(({ head }) => head))],
    ["matches trimmed", sum(logs.map(({ trimmedTo }) => trimmedTo))],
    ["positions of links", ofLinks("position")],
    ["matches delivered", ofLinks("delivered")],
    ["matches expired", ofLinks("expired")],
    ["matches missed", ofLinks("missed")],
    ["matches withdrawn", ofLinks("withdrawn")],
  ])
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
