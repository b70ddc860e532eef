/** First millisecond of a snowflake: 2010-11-04T01:42:54.657Z. Source: X's announcement of snowflake ids. */
export const snowflakeEpochMs = 1_288_834_974_657

/** The first post, before which X takes no time. Source: a recorded 400 of X. */
export const firstPostMs = Date.parse("2006-03-21T00:00:00Z")

/** Ids below this were assigned sequentially, before snowflakes, and contain no time. Source: X's ids of 2010-11. */
export const firstSnowflake = 29_700_859_247n

/** The moment inside a snowflake, Unix ms; `undefined` for ids that are too old to contain one. */
export function snowflakeAtMs(id: string): number | undefined {
  const number = BigInt(id)
  return number < firstSnowflake ? undefined : Number(number >> 22n) + snowflakeEpochMs
}
