/**
 * The events of Jetstream that a connection reads again: hosts differ by some seconds, and an event may come late.
 *
 * While those are read the position stays where it was, since everything up to it is stored: else a source that is cut while
 * it reads them would stand further back each time. An event from before them comes from a host that is behind the one before:
 * then its time is the position.
 */

/** How far before the position a connection begins, in microseconds. Source: facts of drift between hosts; ours. */
export const rewindUs = 5_000_000

/** True when a source that began at the position `begun` has been behind this one. Positions are times in microseconds. */
export function isReadAgain(position: string, begun: string): boolean {
  const [us, begunUs] = [Number(position), Number(begun)]
  return us >= begunUs - rewindUs && us < begunUs
}
