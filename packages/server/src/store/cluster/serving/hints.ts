/**
 * Hints between processes: NOTIFY after each commit, and one connection of each process that listens.
 *
 *     a process: COMMIT ─► own listeners, at once
 *                     └──► NOTIFY sluice, '<process> m:<app>,<app>' ─► the other processes' listeners
 *
 * A hint is sent after the commit, as a statement of its own: within the transaction it would have all transactions of
 * the database commit one after the other (a notification is queued under one lock, which is held until the commit is
 * durable; source: PostgreSQL's src/backend/commands/async.c). Changes of the last moments share one hint. A hint that is
 * lost with its connection is made up for: readers poll, and after each reconnect everything counts as changed.
 */
import pg from "pg"
import type { Clock } from "../../../runtime/clock.ts"
import { asId, type AppId } from "../../../model/ids.ts"
import type { StoreChange } from "../../store.ts"
import {
  beginSession,
  chooseServer,
  connectionOf,
  destroy,
  withShortTimeouts,
  type ClusterSettings,
} from "../connection/connections.ts"
import type { Queries } from "../connection/database.ts"

const channel = "sluice"

/** Most bytes of a hint's apps; with more, the hint is for all. PostgreSQL takes 8,000 bytes. */
const appBytesMax = 7_000

/** Between two attempts to listen again, at most. Ours. */
const reconnectMsMax = 5_000

/** Between two checks that the listening connection is alive. Ours. */
const checkMs = 5_000

/** The hints' dependencies. */
interface HintsDeps {
  readonly settings: ClusterSettings
  readonly clock: Clock
  /** A text that no other process has. */
  readonly sender: string
  /** For each change that another process made, and for each that may have been missed. */
  readonly heard: (change: StoreChange) => void
}

/** Sends hints, those of the last moments in one statement. */
export class HintSender {
  readonly #queries: Queries
  readonly #sender: string
  readonly #apps = new Set<AppId>()
  #hasControl = false
  #hasDeletions = false
  #isSending = false

  constructor(queries: Queries, sender: string) {
    this.#queries = queries
    this.#sender = sender
  }

  send(changes: readonly StoreChange[]): void {
    for (const change of changes) {
      if (change.kind === "control") this.#hasControl = true
      else if (change.kind === "deletions") this.#hasDeletions = true
      else for (const appId of change.appIds ?? []) this.#apps.add(appId)
    }
    if (!this.#isSending) void this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true
    while (this.#hasControl || this.#hasDeletions || this.#apps.size > 0) {
      const messages: string[] = []
      if (this.#hasControl) messages.push("c")
      if (this.#hasDeletions) messages.push("d")
      if (this.#apps.size > 0) {
        const apps = [...this.#apps].join(",")
        messages.push(apps.length > appBytesMax ? "m:*" : `m:${apps}`)
      }
      this.#hasControl = false
      this.#hasDeletions = false
      this.#apps.clear()
      const payloads = messages.map((message) => `${this.#sender} ${message}`)
      // A hint that cannot be sent is lost, and readers poll.
      await this.#queries
        .rows("SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message", channel, payloads)
        .catch(() => undefined)
    }
    this.#isSending = false
  }
}

/** Listens until aborted. Never throws: it connects again and again. */
export async function listenForHints(deps: HintsDeps, signal: AbortSignal): Promise<void> {
  let waitMs = 0
  while (!signal.aborted) {
    try {
      await listenOnce(deps, signal, () => {
        waitMs = 0
      })
    } catch {
      // The next attempt follows; meanwhile readers poll.
    }
    if (signal.aborted) return
    waitMs = Math.min(reconnectMsMax, waitMs * 2 + 100)
    await deps.clock.sleep(waitMs, signal)
  }
}

/** Listens on one connection until that is lost, or its server no longer accepts writes: then no process notifies there. */
async function listenOnce(deps: HintsDeps, signal: AbortSignal, begun: () => void): Promise<void> {
  const { clock, heard } = deps
  const settings = withShortTimeouts(deps.settings)
  const server = await chooseServer(settings)
  const client = new pg.Client({ ...connectionOf(settings, server), application_name: "sluice hints" })
  const lost = new AbortController()
  client.on("error", () => lost.abort())
  client.on("end", () => lost.abort())
  client.on("notification", ({ payload }) => {
    const change = changeOf(payload, deps.sender)
    if (change !== undefined) heard(change)
  })
  try {
    await client.connect()
    await beginSession(client, settings)
    await client.query(`LISTEN ${channel}`)
    begun()
    // Hints sent before this listener began are lost, so assume one.
    heard({ kind: "control" })
    heard({ kind: "matches" })
    heard({ kind: "deletions" })
    const either = AbortSignal.any([signal, lost.signal])
    while (!either.aborted) {
      await clock.sleep(checkMs, either)
      if (!either.aborted) await beginSession(client, settings)
    }
  } finally {
    // A server behind a network that is cut would not hear of an orderly end, which waits until TCP gives up.
    destroy(client)
  }
}

function changeOf(payload: string | undefined, ownSender: string): StoreChange | undefined {
  const [, sender, message = ""] = /^(\S+) (.*)$/.exec(payload ?? "") ?? []
  if (sender === undefined || sender === ownSender) return undefined
  if (message === "c") return { kind: "control" }
  if (message === "d") return { kind: "deletions" }
  if (message === "m:*") return { kind: "matches" }
  if (!message.startsWith("m:")) return undefined
  return {
    kind: "matches",
    appIds: message
      .slice(2)
      .split(",")
      .map((id): AppId => asId(id)),
  }
}
