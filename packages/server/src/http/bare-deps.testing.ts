import type { ServerLimits } from "../control/limits/app-limits.ts"
import { createRequestLimits } from "../control/limits/request-limits.ts"
import type { Clock } from "../runtime/clock.ts"
import { FairRounds } from "../runtime/fair-rounds.ts"
import { ConnectionTracker } from "./connections/connection-tracker.ts"

/** The limits of a server without a profile. */
const unlimited: ServerLimits = {
  profile: "none",
  requests: {},
  rulesMax: 1_000,
  ruleCharactersMax: 2_048,
  connectionsMax: 1,
  postsPerSecondMax: 0,
  postsPerMonthMax: 0,
  capResetDay: 1,
}

/** Dependencies of every server, for tests of a server without a store. */
export function bareDeps(clock: Clock) {
  return {
    clock,
    limits: unlimited,
    requestLimits: createRequestLimits({ limits: unlimited, clock }),
    usage: { count: () => undefined, isCapped: async () => false },
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
