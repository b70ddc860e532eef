/**
 * The rows of leases: which processes live, and which of them has which links and periodic tasks.
 *
 * Links are shared evenly: of `total` links the process of rank `r` drives `total / n`, rounded down, and one more when
 * `r` is below the remainder. A process that starts gets its part when the others have given it back.
 */
import type { LinkId } from "../../../model/ids.ts"
import type { PeriodicTask, SoleTask } from "../../leases.ts"
import { StoreFailed } from "../../store-faults.ts"
import type { WriteTransaction } from "../connection/database.ts"

/** How long a process lives without a renewal. Ours: with the time between two, links move within 10 s of a death. */
export const livesMs = 6_000

/** Tasks that every process can do. */
const periodicTasks: readonly PeriodicTask[] = ["retention", "challenges", "search index"]

/** The leases of a process after a renewal. */
interface Held {
  /** The input of the computed shares: the same text, the same shares. Absent when they are not settled. */
  readonly moves: string | undefined
  /** All links, with the numbers of their leases, when they may have changed. */
  readonly links?: ReadonlyMap<LinkId, number>
  readonly tasks: ReadonlySet<string>
  /** How many links to give back. */
  readonly surplus: number
}

/**
 * Renews a process. Returns its number: a new one when the process was found dead. A late process that was not found
 * dead keeps its links, under the same leases.
 */
export async function renewProcess(transaction: WriteTransaction, number: string | undefined): Promise<string> {
  const aliveUntil = `clock_timestamp() + interval '${livesMs} milliseconds'`
  if (number !== undefined) {
    const isKnown = await transaction.run(`UPDATE processes SET alive_until = ${aliveUntil} WHERE number = $1`, number)
    if (isKnown === 1) return number
  }
  const begun = await transaction.row<{ id: string }>(
    `INSERT INTO processes (alive_until) VALUES (${aliveUntil}) RETURNING number AS id`,
  )
  await countMove(transaction)
  if (begun === undefined) throw new Error("PostgreSQL returned no row of an INSERT.")
  return begun.id
}

/**
 * Keeps processes from beginning until the transaction ends. Throws `StoreFailed` when one serves the store.
 */
export async function refuseServed(transaction: WriteTransaction): Promise<void> {
  await transaction.script("LOCK TABLE processes IN SHARE MODE")
  if ((await transaction.run("SELECT 1 FROM processes WHERE alive_until > clock_timestamp()")) === 0) return
  throw new StoreFailed(
    "A Sluice server runs on the database. Stop all of them first; one that was killed counts for 6 s.",
  )
}

/** Gives a process its share of the free links, and free tasks; nothing when it was found dead since its renewal. */
export async function share(
  transaction: WriteTransaction,
  process: string,
  { sources, movesBefore }: { readonly sources: readonly string[]; readonly movesBefore: string | undefined },
): Promise<Held> {
  // The row stays until the end of the transaction: links of a process without a row would never be freed.
  const isKnown = await transaction.run("SELECT 1 FROM processes WHERE number = $1 FOR UPDATE", process)
  if (isKnown === 0) return { moves: undefined, links: new Map(), tasks: new Set(), surplus: 0 }
  await expireProcesses(transaction, process)
  const heldTasks = await takeTasks(transaction, process, sources)
  const moves = await movesOf(transaction)
  if (moves === movesBefore) return { moves, tasks: heldTasks, surplus: 0 }
  const { rank, processes, total, mine } = await shareOf(transaction, process)
  const wanted = Math.floor(total / processes) + (rank < total % processes ? 1 : 0)
  const taken = mine < wanted ? await takeLinks(transaction, process, wanted - mine) : 0
  const rows = await transaction.rows<{ id: LinkId; lease: number }>(
    `SELECT links.id, lease FROM ${liveLinks} WHERE links.process = $1 ORDER BY links.id`,
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

/** Releases links that a process has under these leases, in the same order. The other processes look for free links. */
export async function freeLinks(
  transaction: WriteTransaction,
  ids: readonly LinkId[],
  leases: readonly number[],
): Promise<void> {
  const freed = await transaction.run(
    `UPDATE links SET process = NULL, lease = NULL
     FROM unnest($1::bigint[], $2::bigint[]) AS given (id, lease)
     WHERE links.id = given.id AND links.lease = given.lease`,
    ids,
    leases,
  )
  if (freed > 0) await countMove(transaction)
  transaction.announce({ kind: "control" })
}

/** Releases everything that a process has before it ends. */
export async function leaveShares(transaction: WriteTransaction, process: string): Promise<void> {
  await transaction.run("DELETE FROM processes WHERE number = $1", process)
  await freeAllOf(transaction, [process])
  await transaction.announceControl()
}

/**
 * Expires processes whose lease has lapsed and releases their links. Not `itself`: it runs this.
 *
 * A lease that ends later than any renewal would set it comes from before PostgreSQL's clock was set back. It is cut to
 * the usual length, or a process that died then would keep its links for as long as the step was.
 */
async function expireProcesses(transaction: WriteTransaction, itself: string): Promise<void> {
  await transaction.run(
    `UPDATE processes SET alive_until = clock_timestamp() + interval '${livesMs} milliseconds' WHERE number IN (
       SELECT number FROM processes
       WHERE alive_until > clock_timestamp() + interval '${2 * livesMs} milliseconds' AND number <> $1
       ORDER BY number FOR UPDATE SKIP LOCKED)`,
    itself,
  )
  const dead = await transaction.rows<{ id: string }>(
    `DELETE FROM processes WHERE number IN (
       SELECT number FROM processes WHERE alive_until <= clock_timestamp() AND number <> $1
       ORDER BY number FOR UPDATE SKIP LOCKED)
     RETURNING number AS id`,
    itself,
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

/** Takes the free tasks, those of these sources included, and returns all that the process has. */
async function takeTasks(
  transaction: WriteTransaction,
  process: string,
  sources: readonly string[],
): Promise<ReadonlySet<string>> {
  const tasks: readonly SoleTask[] = [...periodicTasks, ...sources.map((name) => `source ${name}` as const)]
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

interface ShareRow {
  readonly rank: number
  readonly processes: number
  readonly total: number
  readonly mine: number
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
