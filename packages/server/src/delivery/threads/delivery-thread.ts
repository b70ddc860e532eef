/**
 * A delivery thread drives its share of the webhook links, with their replays: it reads the logs through a connection of
 * its own and sends through sockets of its own. Which links, the main thread says (`delivery-threads.ts`).
 */
import type { MessagePort } from "node:worker_threads"
import type { LinkId } from "../../model/ids.ts"
import { parseAllowedDestinations } from "../../runtime/outbound/allowed-destinations.ts"
import { systemClock as clock } from "../../runtime/clock.ts"
import { armCrashPoint } from "../../runtime/crash-points.ts"
import { createOutbound } from "../../runtime/outbound/outbound.ts"
import type { OutboundPosture } from "../../runtime/outbound/outbound-address.ts"
import { PortCalls } from "../../runtime/port-calls.ts"
import { systemRandom as random } from "../../runtime/random.ts"
import { createSecretBox } from "../../runtime/secret-box.ts"
import { loadThread, serveThread, type Thread } from "../../runtime/thread.ts"
import { openStore, type StoreAccess } from "../../store/engine.ts"
import { LinkRunner, type LinkRunnerDeps } from "../links/link-runner.ts"
import { drivenStateOf } from "../links/link-states.ts"
import { createReplays } from "../replays/replays.ts"
import { EventForwarding } from "./forwarded-events.ts"
import { AssignedLinks } from "./assigned-links.ts"
import type { DeliveryFunctions, DeliveryReports } from "./messages.ts"

/** Settings of deliveries, as plain data. */
export type DeliveryPolicy = Omit<
  LinkRunnerDeps,
  "store" | "leases" | "sharedLinkStates" | "outbound" | "outboundTo" | "secretBox" | "clock" | "random" | "events"
>

/** Settings of the thread. */
interface DeliverySettings extends DeliveryPolicy {
  /** To read logs too. */
  readonly storeAccess: StoreAccess
  readonly masterKey: Uint8Array
  readonly outboundPosture: OutboundPosture
  /** The moment at which a test kills the process. */
  readonly crashPoint: string | undefined
}

interface ThreadData extends Omit<DeliverySettings, "outboundPosture"> {
  readonly allowPrivate: boolean
  /** As an operator writes them. */
  readonly allowed: string | undefined
}

/**
 * A delivery thread, seen from the main thread. Disposing of it ends it when what is in flight has ended, or has been
 * given up at `drainMsMax`, and what has ended is saved.
 */
export interface DeliveryThread extends AsyncDisposable {
  /** To the thread; what is sent before the thread has begun waits there. */
  readonly port: MessagePort
  /** Begins its work, once. */
  start(settings: DeliverySettings): Promise<Pick<Thread, "failed">>
}

/** Loads the modules of the thread, while the store that it needs may still be opened. */
export function loadDeliveryThread(): DeliveryThread {
  const loading = loadThread(import.meta.url)
  return {
    port: loading.port,
    start({ outboundPosture: { allowPrivate, allowed }, ...settings }) {
      const data: ThreadData = { ...settings, allowPrivate, allowed: allowed?.toString() }
      return loading.start(data, settings.storeAccess.ports)
    },
    [Symbol.asyncDispose]: () => loading[Symbol.asyncDispose](),
  }
}

serveThread(import.meta.url, async (data: ThreadData, port) => {
  const { storeAccess, masterKey, allowPrivate, allowed, crashPoint, ...policy } = data
  armCrashPoint(crashPoint)
  await using opening = new AsyncDisposableStack()
  const leases = new AssignedLinks()
  const forwarding = new EventForwarding((events) => main.tell("report", [events]), clock)
  opening.defer(() => forwarding.stop())
  const store = opening.use(await openStore(storeAccess))
  const outbound = createOutbound({
    allowPrivate,
    ...(allowed !== undefined && { allowed: parseAllowedDestinations(allowed) }),
  })
  opening.defer(() => outbound.close())
  const secretBox = createSecretBox(masterKey, random)
  const deps = { ...policy, store, leases, outbound, secretBox, clock, random, events: forwarding.events }
  const runner = new LinkRunner(deps)
  const functions: DeliveryFunctions = {
    assign: (change) => leases.change(change),
    states: (linkIds) => statesOf(runner, linkIds),
  }
  const main = new PortCalls<DeliveryReports>(port, functions)
  const closing = new AbortController()
  // An error of theirs fails the thread.
  const running = Promise.all([runner.run(closing.signal), createReplays(deps).run(closing.signal)])
  opening.defer(async () => {
    closing.abort()
    await running
  })
  return opening.move()
})

function statesOf({ links }: LinkRunner, linkIds: readonly LinkId[]) {
  return new Map(
    linkIds.flatMap((id) => {
      const running = links.get(id)
      return running === undefined ? [] : [[id, drivenStateOf(running)] as const]
    }),
  )
}
