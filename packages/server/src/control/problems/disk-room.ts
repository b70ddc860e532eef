/** The disk under the data directory, in bytes. */
export interface DiskRoom {
  /** Room that this user may still write. */
  readonly freeBytes: number
  readonly totalBytes: number
}

/**
 * Free room below which the disk counts as full. Ours: as much as the write-ahead log may take before a commit has to
 * carry it over, so below it the next large write may be refused.
 */
const freeBytesMin = 67_108_864

/** Free room, and share of the disk, below which it is nearly full: time for a person to act. Ours. */
const freeBytesLow = 1_073_741_824
const freeShareLow = 0.1

/** Judges the room on the disk. */
export function diskFill({ freeBytes, totalBytes }: DiskRoom): "roomy" | "nearly-full" | "full" {
  if (freeBytes < freeBytesMin) return "full"
  return freeBytes < freeBytesLow || freeBytes < totalBytes * freeShareLow ? "nearly-full" : "roomy"
}
