/** Refusals of a search, by the control that they are about. */
import { ApiError } from "@sluice/client"

/** The sentences about the times, and whether there are others. */
interface Faults {
  readonly startTime: string | undefined
  readonly endTime: string | undefined
  readonly others: boolean
}

/** The faults of a refused request; for any other error, nothing is about a time. */
export function faultsOf(error: unknown): Faults {
  const entries = isRefusal(error) ? error.errors : []
  const about = (name: string) => entries.filter((one) => nameOf(one) === name)
  const textOf = (name: string): string | undefined => about(name).at(0)?.message
  return {
    startTime: textOf("start_time"),
    endTime: textOf("end_time"),
    others: about("start_time").length + about("end_time").length < entries.length,
  }
}

/** Whether the server refused the parameters of a request. */
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 400
}

/** Whether the server keeps no search index: its refusal names the setting. */
export function isSearchOff(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404 && error.detail.includes("SLUICE_SEARCH")
}

/** The first parameter that an entry names. */
function nameOf({ parameters }: { readonly [member: string]: unknown }): string | undefined {
  return typeof parameters === "object" && parameters !== null ? Object.keys(parameters)[0] : undefined
}
