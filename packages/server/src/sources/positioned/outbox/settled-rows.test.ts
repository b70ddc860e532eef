/** The order of reading against transactions that take ids and commit in any order, as a model of PostgreSQL. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { SettledReader, type OutboxRow, type OutboxTable } from "./settled-rows.ts"

type Kind = "id" | "insert" | "commit" | "rollback"

/** A step of one of three transactions. */
interface Step {
  readonly kind: Kind
  readonly of: number
}

/** Steps, and then a look of the reader; each inner list is done after one of the statements of the look. */
interface Round {
  readonly before: readonly Step[]
  readonly meanwhile: readonly (readonly Step[])[]
}

interface Running {
  readonly name: string
  taken: bigint[]
  inserted: bigint[]
}

/** A table whose transactions are run step by step. Between two reads of a look, `between` may run more. */
class ModelTable implements OutboxTable<OutboxRow> {
  readonly committed: bigint[] = []
  readonly visible = new Set<bigint>()
  readonly #running = new Map<number, Running>()
  #last = 0n
  #names = 0
  between: () => void = () => undefined

  step(step: Step): void {
    const running = this.#running.get(step.of) ?? { name: `t${(this.#names += 1)}`, taken: [], inserted: [] }
    this.#running.set(step.of, running)
    if (step.kind === "id") running.taken.push((this.#last += 1n))
    if (step.kind === "insert") running.inserted.push(...running.taken.splice(0, 1))
    if (step.kind === "commit" || step.kind === "rollback") {
      this.#running.delete(step.of)
      if (step.kind === "rollback") return
      for (const id of running.inserted) this.visible.add(id)
      this.committed.push(...running.inserted)
    }
  }

  rows(after: bigint): Promise<readonly OutboxRow[]> {
    const ids = [...this.visible].filter((id) => id > after).toSorted((a, b) => Number(a - b))
    this.between()
    return Promise.resolve(ids.slice(0, 4).map((id) => ({ id })))
  }

  writers(): Promise<ReadonlySet<string>> {
    const names = [...this.#running.values()].map(({ name }) => name)
    this.between()
    return Promise.resolve(new Set(names))
  }
}

/** One step, or a whole transaction with one row. */
const anySteps: fc.Arbitrary<readonly Step[]> = fc.oneof(
  fc.record({ kind: fc.constantFrom("id", "insert", "commit", "rollback"), of: fc.nat(2) }).map((step) => [step]),
  fc.nat(2).map((of) => (["id", "insert", "commit"] as const).map((kind) => ({ kind, of }))),
)

const someSteps = fc.array(anySteps, { maxLength: 3 }).map((steps) => steps.flat())

const anyRound: fc.Arbitrary<Round> = fc.record({
  before: someSteps,
  meanwhile: fc.array(someSteps, { maxLength: 3 }),
})

test("every row that is committed is read once, in order, whatever the transactions do meanwhile", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyRound, { maxLength: 12 }), async (rounds) => {
      const table = new ModelTable()
      const reader = new SettledReader(table, 0n)
      const read: bigint[] = []
      const stepAll = (steps: readonly Step[] = []): void => {
        for (const step of steps) table.step(step)
      }
      const look = async ({ before, meanwhile }: Round): Promise<number> => {
        stepAll(before)
        const left = [...meanwhile]
        table.between = () => stepAll(left.shift())
        const { rows } = await reader.next(read.at(-1) ?? 0n)
        read.push(...rows.map(({ id }) => id))
        return rows.length
      }
      for (const round of rounds) await look(round)
      stepAll([0, 1, 2].map((of) => ({ kind: "commit", of })))
      for (let idle = 0; idle < 3;) idle = (await look({ before: [], meanwhile: [] })) === 0 ? idle + 1 : 0
      expect(read).toEqual(table.committed.toSorted((a, b) => Number(a - b)))
    }),
    { numRuns: 3_000 },
  )
})

test("rows in front of a missing id are read at once, those behind it when its transaction has ended", async () => {
  const table = new ModelTable()
  const reader = new SettledReader(table, 0n)
  const steps = (...all: readonly (readonly [kind: "id" | "insert" | "commit" | "rollback", of: number])[]) => {
    for (const [kind, of] of all) table.step({ kind, of })
  }
  steps(["id", 0], ["insert", 0], ["commit", 0], ["id", 1], ["id", 0], ["insert", 0], ["commit", 0])
  expect(await reader.next(0n)).toEqual({ rows: [{ id: 1n }], isWaiting: true })
  expect(await reader.next(1n)).toEqual({ rows: [], isWaiting: true })
  steps(["insert", 1], ["commit", 1])
  expect(await reader.next(1n)).toEqual({ rows: [{ id: 2n }, { id: 3n }], isWaiting: false })
  // A transaction that began later holds nothing up.
  steps(["id", 0], ["rollback", 0], ["id", 1], ["insert", 1], ["commit", 1])
  expect(await reader.next(3n)).toEqual({ rows: [{ id: 5n }], isWaiting: false })
})
