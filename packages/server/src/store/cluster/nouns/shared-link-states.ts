/** States of links that their drivers share, kept in PostgreSQL: a row for each link, valid under one lease. */
import type { LinkId } from "../../../model/ids.ts"
import type { DrivenState, SharedLinkStates } from "../../shared-link-states.ts"
import { columnsOf } from "../../rows/record.ts"
import { columnsAs, type Queries } from "../connection/database.ts"

interface StateRow {
  readonly linkId: LinkId
  readonly isDown: boolean
  readonly inFlight: number
  readonly failingSinceMs: number | null
  readonly nextAttemptAtMs: number | null
  readonly delivered: number
  readonly failed: number
}

const columns = "link_id, lease, is_down, in_flight, failing_since_ms, next_attempt_at_ms, delivered, failed"

const saveSql = `
  INSERT INTO link_states (${columns})
  SELECT given.* FROM unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::integer[], $5::bigint[], $6::bigint[],
    $7::bigint[], $8::bigint[]) AS given (${columns})
    JOIN links ON links.id = given.link_id AND links.lease = given.lease
  ORDER BY given.link_id
  ON CONFLICT (link_id) DO UPDATE SET (lease, is_down, in_flight, failing_since_ms, next_attempt_at_ms, delivered, failed) =
    (excluded.lease, excluded.is_down, excluded.in_flight, excluded.failing_since_ms, excluded.next_attempt_at_ms,
      excluded.delivered, excluded.failed)`

/** The states of a store. */
export function clusterLinkStates(queries: Queries): SharedLinkStates {
  return {
    async save(states) {
      const instant = (ms: number | undefined): number | undefined => ms && Math.round(ms)
      const rows = states.map((state) => ({
        ...state,
        failingSinceMs: instant(state.failingSinceMs),
        nextAttemptAtMs: instant(state.nextAttemptAtMs),
      }))
      await queries.run(
        saveSql,
        ...columnsOf(rows, ["linkId", "lease", "isDown", "inFlight", "failingSinceMs", "nextAttemptAtMs"]),
        ...columnsOf(rows, ["delivered", "failed"]),
      )
    },

    async of(linkIds) {
      const rows = await queries.rows<StateRow>(
        `SELECT ${columnsAs("link_states", columns)} FROM link_states
         JOIN links ON links.id = link_states.link_id AND links.lease = link_states.lease
         WHERE link_states.link_id = ANY ($1::bigint[])`,
        linkIds,
      )
      return new Map(rows.map((row) => [row.linkId, stateOf(row)]))
    },
  }
}

function stateOf({ isDown, inFlight, failingSinceMs, nextAttemptAtMs, delivered, failed }: StateRow): DrivenState {
  return {
    isDown,
    inFlight,
    failingSinceMs: failingSinceMs ?? undefined,
    nextAttemptAtMs: nextAttemptAtMs ?? undefined,
    delivered,
    failed,
  }
}
