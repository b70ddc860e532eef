/** Refusals of a request, by the parameters that they are about. */
import { ApiError } from "@sluice/client"

/** Whether the server refused the parameters of a request. */
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 400
}

/** The first sentence about a parameter; nothing for any other error. */
export function faultAbout(error: unknown, parameter: string): string | undefined {
  return entriesOf(error).find((one) => nameOf(one) === parameter)?.message
}

/** Whether the server refused something else than these parameters. */
export function hasOtherFaults(error: unknown, parameters: readonly string[]): boolean {
  return entriesOf(error).some((one) => !parameters.includes(nameOf(one) ?? ""))
}

function entriesOf(error: unknown): ApiError["errors"] {
  return isRefusal(error) ? error.errors : []
}

/** The first parameter that an entry names. */
function nameOf({ parameters }: { readonly [member: string]: unknown }): string | undefined {
  return typeof parameters === "object" && parameters !== null ? Object.keys(parameters)[0] : undefined
}
