/**
 * An entry that was read so long ago is read again before it is sent, and so is one that was sent before: its post may have
 * been deleted since, or rewritten without a deleted one. Ours.
 */
export const readAgainMs = 1_000
