/**
 * Whether a connection keeps its session, or a pooler hands each transaction or statement to another one.
 *
 * A store needs sessions: LISTEN, prepared statements and session settings are lost without. Two connections show it, on a
 * busy pooler and on an idle one alike:
 *
 *     first:  LISTEN probe ─────────────── waits, runs nothing ───────────────► notified?
 *     second:        NOTIFY probe
 *
 * A pooler that shares sessions has no session for a connection which runs nothing, so a notification does not arrive
 * there. Process numbers alone prove nothing: an idle pooler often hands out the same session again.
 */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import pg from "pg"
import { chooseServer, connectionOf, destroy, type ClusterSettings } from "./connections.ts"
import { clusterFault } from "./postgres-faults.ts"

/** How two connections behave. */
export interface SessionSigns {
  /** For each of the two: the process number that the connection was given when it began. */
  readonly givenProcesses: readonly [number, number]
  /** For each of the two: the process numbers of PostgreSQL's that ran its statements. */
  readonly processes: readonly [readonly number[], readonly number[]]
  /** Whether a transaction of several statements was refused. */
  readonly refusesTransactions: boolean
  /** Whether the first connection was notified while it ran nothing. */
  readonly isNotified: boolean
}

/** The kind of pooler between a process and PostgreSQL. */
export type Pooling = "none" | "session" | "transaction" | "statement"

/** The kind of pooling that two connections show. */
export function poolingOf({ givenProcesses, processes, refusesTransactions, isNotified }: SessionSigns): Pooling {
  if (refusesTransactions) return "statement"
  const [first, second] = processes
  const isKept = [first, second].every((seen) => new Set(seen).size <= 1) && !first.some((one) => second.includes(one))
  // Without a pooler the number is that of the process itself; PostgreSQL gives it out for cancel requests.
  if (isKept && first[0] === givenProcesses[0] && second[0] === givenProcesses[1]) return "none"
  return isKept && isNotified ? "session" : "transaction"
}

/** How long a notification may take. Ours: PostgreSQL sends it at once. */
const notifiedMsMax = 5_000

/** SQLSTATE of pgbouncer's own errors, such as that for a transaction in statement mode. */
const poolerError = "08P01"

/** Tries two connections to the database. Throws `StoreUnavailable` when there are none to be had. */
export async function findPooling(settings: ClusterSettings): Promise<Pooling> {
  const server = await chooseServer(settings)
  const [first, second] = [0, 1].map(() => new pg.Client(connectionOf(settings, server))) as [pg.Client, pg.Client]
  const both = [first, second]
  try {
    // An error that ends a connection fails its statement, too.
    for (const client of both) client.on("error", () => undefined)
    for (const client of both) await client.connect()
    return poolingOf(await signsOf(first, second))
  } catch (error) {
    throw clusterFault(error)
  } finally {
    for (const client of both) destroy(client)
  }
}

async function signsOf(first: pg.Client, second: pg.Client): Promise<SessionSigns> {
  const processes: [number[], number[]] = [[], []]
  processes[0].push(await processOf(first))
  processes[1].push(await processOf(second))
  const givenProcesses: [number, number] = [givenProcess(first), givenProcess(second)]
  const isDirect = processes[0][0] === givenProcesses[0] && processes[1][0] === givenProcesses[1]
  if (isDirect) return { givenProcesses, processes, refusesTransactions: false, isNotified: false }
  // A pooler ends the connection with its refusal.
  if (await refusesTransaction(second)) {
    return { givenProcesses, processes, refusesTransactions: true, isNotified: false }
  }
  const isNotified = await notifies(first, second)
  processes[0].push(await processOf(first))
  processes[1].push(await processOf(second))
  return { givenProcesses, processes, refusesTransactions: false, isNotified }
}

async function processOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ process: number }>("SELECT pg_backend_pid() AS process")
  return rows[0]?.process ?? 0
}

function givenProcess(client: pg.Client): number {
  return (client as pg.Client & { readonly processID: number | null }).processID ?? 0
}

async function refusesTransaction(client: pg.Client): Promise<boolean> {
  try {
    await client.query("BEGIN")
    await client.query("ROLLBACK")
    return false
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === poolerError) return true
    throw error
  }
}

/** Whether `listener` gets what `sender` sends while it runs nothing. */
async function notifies(listener: pg.Client, sender: pg.Client): Promise<boolean> {
  const channel = `sluice_probe_${randomUUID().replaceAll("-", "")}`
  await listener.query(`LISTEN ${channel}`)
  const arriving = once(listener, "notification", { signal: AbortSignal.timeout(notifiedMsMax) }).then(
    () => true,
    () => false,
  )
  await sender.query(`NOTIFY ${channel}`)
  return arriving
}
