import { ApiError, type ApiErrorEntry } from "@sluice/client"
import { expect, test } from "vitest"
import { isRefusal } from "../../components/request-faults.ts"
import { faultsOf, isSearchOff } from "./faults.ts"

function refused(status: number, errors: readonly ApiErrorEntry[], detail = "x"): ApiError {
  return new ApiError({ kind: "problem", status, title: "Invalid Request", detail, errors })
}

test("each sentence goes to the control of the first parameter that it names", () => {
  const disorder = {
    message: "'start_time' must be before 'end_time'",
    parameters: { start_time: ["2026-03-14T10:00Z"], end_time: ["2026-03-14T09:00Z"] },
  }
  const late = { message: "a minimum of 10 seconds prior", parameters: { end_time: ["2090-01-01T00:00Z"] } }
  const query = { message: "There were errors processing your request", parameters: { query: ["bio:x"] } }
  expect(faultsOf(refused(400, [disorder]))).toEqual({ startTime: disorder.message, endTime: undefined, others: false })
  const both = faultsOf(refused(400, [late, query, disorder]))
  expect(both).toEqual({ startTime: disorder.message, endTime: late.message, others: true })
  expect(faultsOf(refused(400, [{ message: "odd" }]))).toMatchObject({ others: true })
})

test("only a refusal has faults, and only the missing index means that the search is off", () => {
  const off = refused(404, [], "Its operator can start it with SLUICE_SEARCH=on.")
  for (const error of [off, new Error("x"), null, refused(503, [])])
    expect([isRefusal(error), faultsOf(error)]).toEqual([
      false,
      { startTime: undefined, endTime: undefined, others: false },
    ])
  expect([off, refused(404, []), refused(400, [], "SLUICE_SEARCH"), null].map(isSearchOff)).toEqual([
    true,
    false,
    false,
    false,
  ])
})
