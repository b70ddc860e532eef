/**
 * Finds a user's posts of a span of time among all of the user's posts, which are ordered by id.
 *
 * A snowflake holds its time, so a span of time is a span of ids, and posts outside of it need not be read. But posts
 * may come from any source, with ids of another meaning. So the store keeps for each author whether every id so far held
 * its post's time; for the other authors, a span of time is only a filter.
 */
import { firstSnowflake, snowflakeAtMs, snowflakeEpochMs } from "@sluice/api"

/** How far a post's time may lie from that in its id. Source: recorded posts agree to the second. */
const slackMs = 1_000

/** Whether the id of a post says when it was made; an id from before snowflakes says that it is older than them. */
export function holdsTime(id: string, createdAtMs: number): boolean {
  const inIdMs = snowflakeAtMs(id)
  return inIdMs === undefined ? createdAtMs < snowflakeEpochMs : Math.abs(createdAtMs - inIdMs) <= slackMs
}

/** Ids between which posts of this span of time lie, both exclusive, if ids hold their times. */
export function idsOfTimes(
  startMs: number | undefined,
  endMs: number | undefined,
): { readonly above: bigint | undefined; readonly below: bigint | undefined } {
  return {
    above: startMs === undefined || startMs <= snowflakeEpochMs + slackMs ? undefined : idAt(startMs - slackMs) - 1n,
    below: endMs === undefined ? undefined : idAt(endMs + slackMs),
  }
}

/** The first id of a moment; before there were snowflakes, the first snowflake. */
function idAt(atMs: number): bigint {
  const id = BigInt(Math.max(0, atMs - snowflakeEpochMs)) << 22n
  return id > firstSnowflake ? id : firstSnowflake
}
