import { readFileSync } from "node:fs"

/** A process as the system lists it. */
interface ListedProcess {
  /** A letter: `Z` and `X` have ended. */
  readonly state: string
  readonly parent: number
  readonly group: number
}

/** The process of a number; undefined when there is none, or the system lists none. Source: proc(5), "/proc/pid/stat". */
export function listedProcess(pid: number): ListedProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, "latin1")
    // The name, in brackets, may have any character.
    const [state = "", parent, group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return { state, parent: Number(parent), group: Number(group) }
  } catch {
    return undefined
  }
}
