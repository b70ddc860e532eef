/** A short run of `npm run test:isolation`, which takes half an hour. */
import { expect, test } from "vitest"
import { run } from "../isolation/isolation-run.ts"
import { postgresMissing } from "./private-postgres.ts"
import { preloadMissing } from "./preloaded-faults.ts"

const seed = Number(process.env["SLUICE_FAULT_SEED"] ?? Date.now() % 1_000_000)
const faultsMs = 60_000
const faultMsMax = 8_000

test.skipIf(postgresMissing !== undefined)(
  "clients see true results under random faults of three processes, their networks, clocks and PostgreSQL",
  { timeout: 6 * faultsMs },
  async () => {
    console.log(`Isolation: SLUICE_FAULT_SEED=${seed}`)
    const { faults, history, errors } = await run({
      seed,
      faultsMs,
      faultMsMax,
      hasClocks: preloadMissing === undefined,
    })
    const count = (kind: string): number => history.filter((seen) => seen.kind === kind).length
    expect(faults).toEqual([])
    expect(errors).toEqual([])
    // Faults happened, and the history has events to judge.
    for (const kind of ["fault", "accepted", "delivered", "listed", "rules"])
      expect(count(kind), kind).toBeGreaterThan(3)
  },
)
