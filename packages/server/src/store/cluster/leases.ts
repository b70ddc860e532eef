/**
 * Leases of links and periodic tasks, kept in PostgreSQL.
 *
 *     every 2 s, and when control data has changed:
 *       my row in `processes` lives 6 s longer          (a transaction of its own, which waits for nobody)
 *        ─► rows that were not renewed are deleted, their links are nobody's
 *        ─► too few links for me? take some that are nobody's
 *        ─► too many? stop the newest, then give them back
 *
 * A process that is paused in mid-transaction keeps its locks on links until PostgreSQL ends the transaction: 4 s later,
 * when nobody counts it as dead yet. So a process that takes its links over does not wait for it.
 *
 * All times are PostgreSQL's, so that clocks of machines do not matter; a process measures its own delay by its monotonic
 * clock, from before the renewal was sent. It stops sending a second before its row may be deleted. A row that has been
 * deleted does not come back: the process gets another number and no links.
 *
 * Links are shared evenly: of `total` links the process of rank `r` drives `total / n`, rounded down, and one more when
 * `r` is below the remainder. A process that starts gets its part when the others have given it back.
 */
import type { LinkId } from "../../model/ids.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Leases, PeriodicTask } from "../leases.ts"
import type { Store } from "../store.ts"
import type { ClusterDatabase, WriteTransaction } from "./database.ts"

/** How long a process lives without a renewal. Ours: with the time between two, links move within 10 s of a death. */
const livesMs = 6_000

/** Time between two renewals. */
const renewMs = 2_000

/** A process counts itself as dead so much earlier than the others do. */
const marginMs = 1_000

/** Least time between two renewals, so that many changes do not cause as many. */
const pauseMs = 100

const tasks: readonly PeriodicTask[] = ["retention", "challenges"]

/** What a process has after a renewal. */
interface Held {
  /** What the shares were computed from: the same number, the same shares. Absent when they are not settled. */
  readonly moves: string | undefined
  /** All links, when they may have changed. */
  readonly links?: ReadonlyMap<LinkId, number>
  readonly tasks: ReadonlySet<string>
  /** How many links to give back. */
  readonly surplus: number
}

/** What leases need. */
interface LeasesDeps {
  readonly database: ClusterDatabase
  readonly store: Pick<Store, "onChange">
  readonly clock: Clock
  /** Called when a renewal fails. */
  readonly failed: (error: unknown) => void
}

/** The leases of this process, which are renewed until it is disposed of. */
export class ClusterLeases implements Leases, AsyncDisposable {
  readonly #deps: LeasesDeps
  readonly #listeners = new Set<() => void>()
  readonly #closing = new AbortController()
  /** Links that are being stopped, to be given back. */
  readonly #leaving = new Set<LinkId>()
  #process: string | undefined
  #moves: string | undefined
  #links = new Map<LinkId, number>()
  #tasks: ReadonlySet<string> = new Set()
  /** Monotonic time until which the leases hold. */
  #holdsUntilMs = 0
  #wake: (() => void) | undefined
  #isWoken = false
  #ended: Promise<void> | undefined

  /** The leases of a process that has just begun. The first renewal is done when it resolves. */
  static async begin(deps: LeasesDeps): Promise<ClusterLeases> {
    const leases = new ClusterLeases(deps)
    await leases.#renew()
    leases.#ended = leases.#renewAlways()
    return leases
  }

  private constructor(deps: LeasesDeps) {
    this.#deps = deps
  }

  /** A number that no other process has which shares the store. */
  get processNumber(): number {
    return Number(this.#process)
  }

  ofLink(id: LinkId): number | undefined {
    return this.#holds && !this.#leaving.has(id) ? this.#links.get(id) : undefined
  }

  snapshot(): (id: LinkId) => number | undefined {
    const links = this.#links
    return (id) => (this.ofLink(id) === links.get(id) ? links.get(id) : undefined)
  }

  has(task: PeriodicTask): boolean {
    return this.#holds && this.#tasks.has(task)
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  lost(ids: readonly LinkId[]): void {
    for (const id of ids) this.#links.delete(id)
    // Whatever the store says next is news.
    this.#moves = undefined
    this.#announce()
    this.#wakeUp()
  }

  stopped(ids: readonly LinkId[]): void {
    const returned = ids.filter((id) => this.#leaving.has(id))
    if (returned.length > 0) void this.#giveBack(returned)
  }

  /** Gives everything back: others take it over at their next renewal. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    this.#wakeUp()
    await this.#ended
    this.#listeners.clear()
    const process = this.#process
    if (process === undefined) return
    await this.#deps.database
      .write(async (transaction) => {
        await transaction.run("DELETE FROM processes WHERE number = $1", process)
        await freeAllOf(transaction, [process])
        await transaction.announceControl()
      })
      // Else the others find it dead.
      .catch(() => undefined)
  }

  get #holds(): boolean {
    return this.#deps.clock.monotonicMs() < this.#holdsUntilMs
  }

  async #renewAlways(): Promise<void> {
    const { clock, store, failed } = this.#deps
    const { signal } = this.#closing
    const stopListening = store.onChange((change) => {
      if (change.kind === "control") this.#wakeUp()
    })
    while (!signal.aborted) {
      await this.#pause()
      if (signal.aborted) break
      try {
        await this.#renew()
      } catch (error) {
        failed(error)
      }
      await clock.sleep(pauseMs, signal)
    }
    stopListening()
  }

  /** Until the next renewal is due, or `#wakeUp` is called. */
  async #pause(): Promise<void> {
    if (!this.#isWoken) {
      const woken = new AbortController()
      this.#wake = () => woken.abort()
      await this.#deps.clock.sleep(renewMs - pauseMs, woken.signal)
      this.#wake = undefined
    }
    this.#isWoken = false
  }

  #wakeUp(): void {
    this.#isWoken = true
    this.#wake?.()
  }

  async #renew(): Promise<void> {
    const { database, clock } = this.#deps
    const sentMs = clock.monotonicMs()
    const process = await database.write((transaction) => renewProcess(transaction, this.#process))
    const wasLate = !this.#holds
    this.#holdsUntilMs = sentMs + livesMs - marginMs
    if (process !== this.#process) this.#beginAs(process)
    else if (wasLate) this.#announce()
    const held = await database.write((transaction) => share(transaction, process, this.#moves))
    const hasNewTasks = !isSameSet(held.tasks, this.#tasks)
    this.#moves = held.moves
    this.#tasks = held.tasks
    if (held.links !== undefined) this.#links = new Map(held.links)
    const surplus = this.#chooseSurplus(held.surplus)
    if (held.links !== undefined || hasNewTasks || surplus > 0) this.#announce()
  }

  /** What was held under an earlier number is lost. */
  #beginAs(process: string): void {
    this.#process = process
    this.#moves = undefined
    this.#links = new Map()
    this.#tasks = new Set()
    this.#leaving.clear()
    this.#announce()
  }

  /** Marks the newest links beyond this process's share to be stopped. Returns how many are new among them. */
  #chooseSurplus(count: number): number {
    let missing = count - this.#leaving.size
    const before = this.#leaving.size
    for (const id of [...this.#links.keys()].toReversed()) {
      if (missing <= 0) break
      if (this.#leaving.has(id)) continue
      this.#leaving.add(id)
      missing -= 1
    }
    return this.#leaving.size - before
  }

  async #giveBack(ids: readonly LinkId[]): Promise<void> {
    const { database, failed } = this.#deps
    const leases = ids.map((id) => this.#links.get(id) ?? 0)
    try {
      await database.write(async (transaction) => {
        const freed = await transaction.run(
          `UPDATE links SET process = NULL, lease = NULL
           FROM unnest($1::bigint[], $2::bigint[]) AS given (id, lease)
           WHERE links.id = given.id AND links.lease = given.lease`,
          ids,
          leases,
        )
        if (freed > 0) await countMove(transaction)
        // The others look for links that are nobody's.
        transaction.announce({ kind: "control" })
      })
      for (const id of ids) this.#links.delete(id)
    } catch (error) {
      // They are stopped here and stay this process's: the next renewal counts them as surplus again.
      failed(error)
    }
    for (const id of ids) this.#leaving.delete(id)
  }

  #announce(): void {
    for (const listener of this.#listeners) listener()
  }
}

function isSameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((one) => b.has(one))
}

interface ShareRow {
  readonly rank: number
  readonly processes: number
  readonly total: number
  readonly mine: number
}

/** Gives a process its share of what is nobody's; nothing when it has died since its renewal. */
async function share(transaction: WriteTransaction, process: string, movesBefore: string | undefined): Promise<Held> {
  // Its row stays until the end of the transaction: nobody frees the links of a process that has none.
  const isAlive = await transaction.run(
    "SELECT 1 FROM processes WHERE number = $1 AND alive_until > clock_timestamp() FOR UPDATE",
    process,
  )
  if (isAlive === 0) return { moves: undefined, links: new Map(), tasks: new Set(), surplus: 0 }
  await buryDead(transaction)
  const heldTasks = await takeTasks(transaction, process)
  const moves = await movesOf(transaction)
  if (moves === movesBefore) return { moves, tasks: heldTasks, surplus: 0 }
  const { rank, processes, total, mine } = await shareOf(transaction, process)
  const wanted = Math.floor(total / processes) + (rank < total % processes ? 1 : 0)
  const taken = mine < wanted ? await takeLinks(transaction, process, wanted - mine) : 0
  const rows = await transaction.rows<{ id: LinkId; lease: number }>(
    "SELECT id, lease FROM links WHERE process = $1 ORDER BY id",
    process,
  )
  const isSettled = mine + taken === wanted
  return {
    moves: isSettled ? moves : undefined,
    links: new Map(rows.map(({ id, lease }) => [id, lease])),
    tasks: heldTasks,
    surplus: Math.max(mine - wanted, 0),
  }
}

/** Returns the process's number: another one than before when that has died. */
async function renewProcess(transaction: WriteTransaction, number: string | undefined): Promise<string> {
  const aliveUntil = `clock_timestamp() + interval '${livesMs} milliseconds'`
  if (number !== undefined) {
    const isAlive = await transaction.run(
      `UPDATE processes SET alive_until = ${aliveUntil} WHERE number = $1 AND alive_until > clock_timestamp()`,
      number,
    )
    if (isAlive === 1) return number
  }
  const begun = await transaction.row<{ id: string }>(
    `INSERT INTO processes (alive_until) VALUES (${aliveUntil}) RETURNING number AS id`,
  )
  await countMove(transaction)
  if (begun === undefined) throw new Error("PostgreSQL returned no row of an INSERT.")
  return begun.id
}

async function buryDead(transaction: WriteTransaction): Promise<void> {
  const dead = await transaction.rows<{ id: string }>(
    `DELETE FROM processes WHERE number IN (
       SELECT number FROM processes WHERE alive_until <= clock_timestamp() ORDER BY number FOR UPDATE SKIP LOCKED)
     RETURNING number AS id`,
  )
  if (dead.length > 0) {
    await freeAllOf(
      transaction,
      dead.map(({ id }) => id),
    )
  }
}

async function freeAllOf(transaction: WriteTransaction, processes: readonly string[]): Promise<void> {
  await transaction.run(
    `UPDATE links SET process = NULL, lease = NULL WHERE id IN (
       SELECT id FROM links WHERE process = ANY($1::bigint[]) ORDER BY id FOR UPDATE)`,
    processes,
  )
  await transaction.run("UPDATE task_leases SET process = NULL WHERE process = ANY($1::bigint[])", processes)
  await countMove(transaction)
}

async function countMove(transaction: WriteTransaction): Promise<void> {
  await transaction.run("UPDATE lease_moves SET moves = moves + 1")
}

/** Takes the tasks that are nobody's, and returns those that the process has. */
async function takeTasks(transaction: WriteTransaction, process: string): Promise<ReadonlySet<string>> {
  const rows = await transaction.rows<{ task: string; mine: boolean }>(
    "SELECT task, process = $1 AS mine FROM task_leases WHERE process IS NOT NULL",
    process,
  )
  const mine = new Set(rows.filter((row) => row.mine).map(({ task }) => task))
  const free = tasks.filter((task) => rows.every((row) => row.task !== task))
  if (free.length === 0) return mine
  const taken = await transaction.rows<{ task: string }>(
    `INSERT INTO task_leases (task, process) SELECT task, $2 FROM unnest($1::text[]) AS task
     ON CONFLICT (task) DO UPDATE SET process = excluded.process WHERE task_leases.process IS NULL RETURNING task`,
    free,
    process,
  )
  for (const { task } of taken) mine.add(task)
  return mine
}

/** A text that changes whenever the shares may have: processes or links have come or gone, or were given back. */
async function movesOf(transaction: WriteTransaction): Promise<string> {
  const row = await transaction.row<{ moves: string }>(
    `SELECT (SELECT moves FROM lease_moves)::text || ' ' || (SELECT coalesce(sum(control_changes), 0) FROM totals)::text
       AS moves`,
  )
  return row?.moves ?? ""
}

const liveLinks = "links JOIN apps ON apps.id = links.app_id AND NOT revoked"

async function shareOf(transaction: WriteTransaction, process: string): Promise<ShareRow> {
  const row = await transaction.row<ShareRow>(
    `SELECT (SELECT count(*) FROM processes WHERE number < $1) AS rank,
       (SELECT count(*) FROM processes) AS processes,
       (SELECT count(*) FROM ${liveLinks}) AS total,
       (SELECT count(*) FROM ${liveLinks} WHERE links.process = $1) AS mine`,
    process,
  )
  return row ?? { rank: 0, processes: 1, total: 0, mine: 0 }
}

async function takeLinks(transaction: WriteTransaction, process: string, count: number): Promise<number> {
  return transaction.run(
    `UPDATE links SET process = $1, lease = nextval('lease_numbers') WHERE id IN (
       SELECT links.id FROM ${liveLinks} WHERE links.process IS NULL ORDER BY links.id LIMIT $2
       FOR UPDATE OF links SKIP LOCKED)`,
    process,
    count,
  )
}
