/**
 * A delivery thread drives its share of the webhook links, with their replays: it reads the logs through a connection of
 * its own and sends through sockets of its own. Which links, the main thread says (`delivery-threads.ts`).
 */
import { MessageChannel, type MessagePort } from "node:worker_threads"
import { parseAllowedDestinations } from "../../runtime/outbound/allowed-destinations.ts"
import { systemClock as clock } from "../../runtime/clock.ts"
import { armCrashPoint } from "../../runtime/crash-points.ts"
import { createOutbound } from "../../runtime/outbound/outbound.ts"
import type { OutboundPosture } from "../../runtime/outbound/outbound-address.ts"
import { systemRandom as random } from "../../runtime/random.ts"
import { createSecretBox } from "../../runtime/secret-box.ts"
import { loadThread, serveThread, type Thread } from "../../runtime/thread.ts"
import { openStore, type StoreAccess } from "../../store/engine.ts"
import { LinkRunner, type LinkRunnerDeps } from "../links/link-runner.ts"
import { drivenStateOf } from "../links/link-states.ts"
import { createReplays } from "../replays/replays.ts"
import { EventForwarding } from "./forwarded-events.ts"
import { AssignedLinks } from "./assigned-links.ts"
import type { DeliveryReply, DeliveryRequest } from "./messages.ts"

/** What deliveries are made with, as plain data. */
export type DeliveryPolicy = Omit<
  LinkRunnerDeps,
  "store" | "leases" | "sharedLinkStates" | "outbound" | "outboundTo" | "secretBox" | "clock" | "random" | "events"
>

/** What the thread works on. */
interface DeliverySettings extends DeliveryPolicy {
  /** To read logs too. */
  readonly storeAccess: StoreAccess
  readonly masterKey: Uint8Array
  readonly outboundPosture: OutboundPosture
  /** Where a test has the process killed. */
  readonly crashPoint: string | undefined
}

interface ThreadData extends Omit<DeliverySettings, "outboundPosture"> {
  readonly allowPrivate: boolean
  /** As they are written. */
  readonly allowed: string | undefined
  readonly port: MessagePort
}

/**
 * A delivery thread, seen from the main thread. Disposing of it ends it when what is in flight has ended, or has been
 * given up at `drainMsMax`, and what has ended is saved.
 */
export interface DeliveryThread extends AsyncDisposable {
  /** What is posted before the thread has started waits there. */
  readonly port: MessagePort
  /** Has it begin, once. */
  start(settings: DeliverySettings): Promise<Pick<Thread, "failed">>
}

/** Has the thread load its modules, while the store that it needs may still be opened. */
export function loadDeliveryThread(): DeliveryThread {
  const { port1, port2 } = new MessageChannel()
  const loading = loadThread(import.meta.url)
  return {
    port: port1,
    async start({ outboundPosture: { allowPrivate, allowed }, ...settings }) {
      const data: ThreadData = { ...settings, allowPrivate, allowed: allowed?.toString(), port: port2 }
      return loading.start(data, [...settings.storeAccess.ports, port2])
    },
    async [Symbol.asyncDispose]() {
      await loading[Symbol.asyncDispose]()
      port1.close()
    },
  }
}

serveThread(import.meta.url, async (data: ThreadData) => {
  const { storeAccess, masterKey, allowPrivate, allowed, crashPoint, port, ...policy } = data
  armCrashPoint(crashPoint)
  await using opening = new AsyncDisposableStack()
  opening.defer(() => port.close())
  const reply = (message: DeliveryReply): void => port.postMessage(message)
  const forwarding = new EventForwarding((events) => reply({ kind: "events", events }), clock)
  opening.defer(() => forwarding.stop())
  const store = opening.use(await openStore(storeAccess))
  const outbound = createOutbound({
    allowPrivate,
    ...(allowed !== undefined && { allowed: parseAllowedDestinations(allowed) }),
  })
  opening.defer(() => outbound.close())
  const leases = new AssignedLinks()
  const secretBox = createSecretBox(masterKey, random)
  const deps = { ...policy, store, leases, outbound, secretBox, clock, random, events: forwarding.events }
  const runner = new LinkRunner(deps)
  port.on("message", (request: DeliveryRequest) => {
    if (request.kind === "links") leases.change(request)
    else reply({ kind: "states", request: request.request, states: statesOf(runner, request.linkIds) })
  })
  const closing = new AbortController()
  // What they reject with fails the thread.
  const running = Promise.all([runner.run(closing.signal), createReplays(deps).run(closing.signal)])
  opening.defer(async () => {
    closing.abort()
    await running
  })
  return opening.move()
})

function statesOf({ links }: LinkRunner, linkIds: Extract<DeliveryRequest, { kind: "states" }>["linkIds"]) {
  return new Map(
    linkIds.flatMap((id) => {
      const running = links.get(id)
      return running === undefined ? [] : [[id, drivenStateOf(running)] as const]
    }),
  )
}
