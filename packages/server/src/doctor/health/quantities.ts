/** Spans of time and sizes as sentences show them. */
import { counted } from "../finding.ts"

/** A time span in the two units that matter: `1.2 s`, `3 min`, `2 h 5 min`, `4 days 3 h`. */
export function duration(ms: number): string {
  const seconds = ms / 1_000
  if (seconds < 60) return `${Math.max(Math.round(seconds * 10) / 10, 0.1)} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h ${minutes % 60} min`
  return `${counted(Math.floor(hours / 24), "day")} ${hours % 24} h`
}

/** A number of bytes in the largest unit that leaves at least one. */
export function size(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1)
  const value = bytes / 1_024 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}
