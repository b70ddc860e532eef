import type { Clock } from "../runtime/clock.ts"
import { FairRounds } from "../runtime/fair-rounds.ts"
import { ConnectionTracker } from "./connections/connection-tracker.ts"

/** Dependencies of every server, for tests of a server without a store. */
export function bareDeps(clock: Clock) {
  return {
    clock,
    rounds: new FairRounds(clock),
    connections: new ConnectionTracker({
      clock,
      events: { connectionCut: () => undefined },
      connectionsMax: 100,
      unreadMsMax: 10_000,
      unreadBytesMax: 1_000_000,
      inputBytesMax: 1_000_000,
    }),
    events: { requestFinished: () => undefined, failed: (_event: unknown) => undefined },
    requestMsMax: 1_000,
  }
}
