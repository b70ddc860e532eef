/** Bounds that every store keeps, as `store.ts` and the contract name them. All are ours. */

/** Most retries of a link after others have joined them, and most bytes to send for these. */
export const retriesPerLinkMax = 1_000
export const retryBytesPerLinkMax = 16 * 1_048_576

/** Most dead letters that become retries at once, and most retries whose bytes are summed up for it. */
export const redeliveredMax = 10_000
export const retriesSummedMax = 20_000

/** Gap markers that are kept of a link, the newest. */
export const gapsPerLinkMax = 1_000

/** Ended replays that are kept of an app, the newest. */
export const endedReplaysMax = 100

/**
 * Most posts of the last two days that are remembered with the app that they were counted for, over all apps; beyond it a
 * post counts again when it is read again. A gigabyte or less.
 */
export const usagePostsMax = 20_000_000

/** Most entries of one post that are read: as many apps. */
export const matchesOfPostMax = 1_000

/** Stream connections that are kept of an app, open or ended: the newest, and older ones that are open. Ours. */
export const connectionsKeptMax = 1_000

/**
 * Ended stream connections that are kept of all apps: those that ended last, and those of the last minute. Ours: some 30 MB,
 * since a row has at most 300 bytes.
 */
export const endedConnectionsMax = 100_000

/** Gap markers that are kept of a source, the newest. */
export const sourceGapsMax = 100

/** Dead letters that are kept of all sources, the newest, and most bytes of their records. */
export const sourceDeadLettersMax = 10_000
export const sourceDeadLetterBytesMax = 16 * 1_048_576

/** Most bytes that are kept of a record that became a dead letter. Ours. */
export const sourceDeadLetterRecordBytesMax = 65_536
