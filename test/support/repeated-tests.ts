/**
 * How often a failed test is repeated, and the report of those that passed only then.
 *
 * `.ci/run` sets `SLUICE_TEST_RETRIES=1`, because a shared machine can stand still for longer than any test waits. A test
 * that passes at the second attempt has a fault all the same, of its own or of the program, so the end of the run names
 * it with its error.
 */
import type { Reporter, TestCase } from "vitest/node"

const retries = Number(process.env["SLUICE_TEST_RETRIES"] ?? 0)

/** Prints the tests that failed and then passed. */
class RepeatedTests implements Reporter {
  readonly #repeated: TestCase[] = []

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky === true) this.#repeated.push(test)
  }

  onTestRunEnd(): void {
    for (const test of this.#repeated) {
      console.log(`Passed only when repeated: ${test.module.relativeModuleId} > ${test.fullName}`)
      for (const { stack, message } of test.result().errors ?? []) console.log(stack ?? message)
    }
  }
}

/** Vitest chooses these by itself when none is named. */
const usual = process.env["GITHUB_ACTIONS"] === "true" ? ["default", "github-actions"] : ["default"]

/** Options of Vitest that all projects share. */
export const repeating = { retry: retries, reporters: [...usual, new RepeatedTests()] }
