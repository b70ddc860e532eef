/** Refusals of a search, by the control that they are about. */
import { ApiError } from "@sluice/client"
import { faultAbout, hasOtherFaults } from "../../components/request-faults.ts"

/** The sentences about the times, and whether there are others. */
interface Faults {
  readonly startTime: string | undefined
  readonly endTime: string | undefined
  readonly others: boolean
}

/** The faults of a refused request; for any other error, nothing is about a time. */
export function faultsOf(error: unknown): Faults {
  return {
    startTime: faultAbout(error, "start_time"),
    endTime: faultAbout(error, "end_time"),
    others: hasOtherFaults(error, ["start_time", "end_time"]),
  }
}

/** Whether the server keeps no search index: its refusal names the setting. */
export function isSearchOff(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404 && error.detail.includes("SLUICE_SEARCH")
}
