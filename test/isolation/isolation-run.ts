/** One run: a cluster, its clients, faults for a while, and the judgement of what the clients saw. */
import { join } from "node:path"
import { AppClient, waitFor } from "../faults/app-client.ts"
import { Cluster } from "../faults/cluster.ts"
import { faultyMachine, type FaultyMachine } from "../faults/preloaded-faults.ts"
import { seededRandom } from "../oracle/seeded-random.ts"
import { SluiceClient } from "../oracle/sluice-client.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { check } from "./checker.ts"
import {
  changeRules,
  deletePosts,
  prepare,
  readAllLists,
  readLists,
  Receiver,
  sendPosts,
  type ClientDeps,
} from "./clients.ts"
import type { Seen } from "./history.ts"
import { attack } from "./nemesis.ts"

/** Options of a run. */
export interface RunOptions {
  readonly seed: number
  readonly faultsMs: number
  readonly faultMsMax: number
  /** Whether the run can step clocks: it needs a library in C, which it compiles. */
  readonly hasClocks: boolean
}

/** The result of a run. */
export interface RunResult {
  readonly faults: readonly string[]
  readonly history: readonly Seen[]
  /** Errors that processes reported, except those of an unavailable database. */
  readonly errors: readonly string[]
}

const processes = 3
const links = 2
const senders = 3

/** Most deliveries of a link in flight: a fault may repeat this many. */
const deliveriesPerLink = 8

/** Longest time in which a change of rules reaches a process that has no hints. */
const rulesMsMax = 10_000

/** Longest time that a delivery is on its way: it was read a second before the deletion, and may take ten, and as long again. */
const onTheirWayMsMax = 21_000

/** Longest time until the cluster has delivered everything after the last fault. */
const settleMsMax = 120_000

/** Runs it. */
export async function run({ seed, faultsMs, faultMsMax, hasClocks }: RunOptions): Promise<RunResult> {
  await using resources = new AsyncDisposableStack()
  const directory = resources.use(await temporaryDirectory())
  const machines = hasClocks
    ? Array.from({ length: processes }, (_, number) =>
        resources.use(faultyMachine(join(directory.path, `clock-${number}`))),
      )
    : []
  const cluster = resources.use(
    await Cluster.start({
      processes,
      env: { SLUICE_RETRY_SECONDS_MAX: "2", SLUICE_DELIVERIES_PER_LINK_MAX: String(deliveriesPerLink) },
      envOf: (number) => machines[number]?.env ?? {},
    }),
  )
  const history: Seen[] = []
  const random = seededRandom(seed)
  const { token, consumerSecret } = new AppClient(cluster.readyLine)
  const client = new SluiceClient(cluster.balancer.url, token)
  const { operator_token: operatorToken } = JSON.parse(cluster.readyLine) as { operator_token: string }
  const operator = new SluiceClient(cluster.balancer.url, operatorToken)
  const deps: ClientDeps = {
    history,
    random,
    send: (...request) => client.send(...request),
    sendAsOperator: (...request) => operator.send(...request),
  }
  const receiver = resources.use(await Receiver.start(deps, consumerSecret))
  const webhookIds = await prepare(
    deps,
    Array.from({ length: links }, (_, link) => receiver.url(link)),
  )

  const ending = new AbortController()
  const clients = Promise.all([
    ...Array.from({ length: senders }, (_, lane) => sendPosts(deps, lane, ending.signal)),
    changeRules(deps, ending.signal),
    deletePosts(deps, ending.signal),
    readLists(deps, ending.signal),
  ])
  await attack(
    {
      cluster,
      history,
      random: seededRandom(seed + 1),
      faultMsMax,
      ...(hasClocks && { setClock: clockSetter(machines) }),
    },
    AbortSignal.timeout(faultsMs),
  )
  ending.abort()
  await clients
  for (const machine of machines) machine.setClockOff(0)
  await readAllLists(deps)
  for (const [link, id] of webhookIds.entries())
    history.push(await finalState(new AppClient(cluster.readyLine), link, id))
  const errors = cluster.unexpectedErrors
  return {
    faults: check(history, {
      links,
      repeatsPerFault: deliveriesPerLink,
      rulesMsMax,
      deletedMsMax: faultMsMax + onTheirWayMsMax,
    }),
    history,
    errors,
  }
}

function clockSetter(machines: readonly FaultyMachine[]): (number: number, seconds: number) => void {
  return (number, seconds) => machines[number]?.setClockOff(seconds)
}

/**
 * The state of a link once it has delivered everything; otherwise its state after the longest wait, or the reason why
 * it has none.
 */
async function finalState(app: AppClient, link: number, webhookId: string): Promise<Seen> {
  const read = async () => {
    const { position, head, total } = await app.linkState(webhookId)
    return { kind: "final", link, position, head, total } as const
  }
  // Totals are read after the position, so the first response with complete totals may have an earlier position.
  return waitFor(
    read,
    ({ position, head, total }) => total.delivered + total.withdrawn === head && position === head,
    settleMsMax,
  )
    .catch(read)
    .catch((error: unknown) => ({ kind: "wrong", what: `link ${link}: ${String(error)}` }))
}
