/**
 * The required behaviour of every store, in one file for each noun. The test of an implementation calls `storeContract`
 * with a way to make an empty store and to open the same one again.
 */
import { describe } from "vitest"
import { accountingContract } from "./accounting-contract.ts"
import { appContract } from "./app-contract.ts"
import { arrivalContract } from "./arrival-contract.ts"
import { attemptContract } from "./attempt-contract.ts"
import { changeContract } from "./change-contract.ts"
import { connectionContract } from "./connection-contract.ts"
import { deadLetterContract } from "./dead-letter-contract.ts"
import { editContract } from "./edit-contract.ts"
import { deletionContract } from "./deletion-contract.ts"
import { epochContract } from "./epoch-contract.ts"
import { linkContract } from "./link-contract.ts"
import { matchLogContract } from "./match-log-contract.ts"
import { postContract } from "./post-contract.ts"
import { progressContract } from "./progress-contract.ts"
import { replayContract } from "./replay-contract.ts"
import { retentionContract } from "./retention-contract.ts"
import { ruleContract } from "./rule-contract.ts"
import { sessionContract } from "./session-contract.ts"
import type { MakeStore } from "./store-under-test.ts"
import { sourceContract } from "./source-contract.ts"
import { usageContract } from "./usage-contract.ts"
import { userContract } from "./user-contract.ts"
import { webhookContract } from "./webhook-contract.ts"

/** The tests that a store passes. */
export function storeContract(name: string, make: MakeStore): void {
  describe(`${name} keeps the contract of a store`, () => {
    appContract(make)
    sessionContract(make)
    connectionContract(make)
    ruleContract(make)
    webhookContract(make)
    linkContract(make)
    postContract(make)
    arrivalContract(make)
    userContract(make)
    editContract(make)
    usageContract(make)
    matchLogContract(make)
    sourceContract(make)
    progressContract(make)
    attemptContract(make)
    deadLetterContract(make)
    deletionContract(make)
    replayContract(make)
    retentionContract(make)
    changeContract(make)
    epochContract(make)
    accountingContract(make)
  })
}
