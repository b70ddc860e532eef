/** The room on the disk. */
import { diskFill, type DiskRoom } from "../../control/problems/disk-room.ts"
import { fault, good, warning, type Finding } from "../finding.ts"
import { size } from "./quantities.ts"

/** A write-ahead log that should long have been taken into the store. Ours: that happens at a few dozen MiB. */
const logBytesHigh = 1_073_741_824

/** The disk, and what of it the store has, in bytes. */
export interface StoreRoom extends DiskRoom {
  readonly storeBytes: number
  /** Size of the write-ahead log next to the store. */
  readonly logBytes: number
}

/** Findings about the room on the disk. */
export function diskFindings(room: StoreRoom): readonly Finding[] {
  const { freeBytes, totalBytes, storeBytes, logBytes } = room
  const text =
    `${size(freeBytes)} of ${size(totalBytes)} are free; ` +
    `the store takes ${size(storeBytes)} and its log ${size(logBytes)}.`
  const makeRoom = "Make room, or lower matchRetentionHours and postRetentionDays: without room posts are refused."
  const fill = diskFill(room)
  const found =
    fill === "full"
      ? fault("disk", text, makeRoom)
      : fill === "nearly-full"
        ? warning("disk", text, makeRoom)
        : good("disk", text)
  if (logBytes < logBytesHigh) return [found]
  return [
    found,
    warning(
      "disk",
      `The write-ahead log has grown to ${size(logBytes)}: something reads the store and does not end.`,
      "Look for programs that have sluice.db open; a restart of the server empties the log.",
    ),
  ]
}
