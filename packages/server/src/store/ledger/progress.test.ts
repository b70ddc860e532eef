/** Progress against its definition: each match on its own, by the table of states. */
import fc from "fast-check"
import { expect, test } from "vitest"
import type { DeadMatch } from "../../model/dead-letter.ts"
import type { LinkId, MatchSeq } from "../../model/ids.ts"
import type { LinkProgress, Retry } from "../../model/link.ts"
import { aDeadMatch, aRetry, progress, seqs } from "../contract/fixtures.ts"
import { nextState, type DeliveryEvent, type DeliveryState } from "./delivery-state.ts"
import type { LinkChange } from "./link-change.ts"
import { overtake } from "./overtake.ts"
import { isDeliveredOnly, namedIn, progressChange } from "./progress.ts"
import { expire, redeliverMatches } from "./redeliver.ts"
import { RetryRoom } from "./retry-room.ts"

const matches = 12 as MatchSeq

/** A link as a store keeps it: rows and counters, changed by nothing but what the ledger says. */
class KeptLink {
  position = 0 as MatchSeq
  trimmedTo = 0 as MatchSeq
  delivered = 0
  expired = 0
  missed = 0
  readonly retries = new Map<MatchSeq, Retry>()
  readonly dead = new Map<MatchSeq, DeadMatch>()

  before(named: readonly MatchSeq[]) {
    const outstanding = [...new Set(named)]
      .filter((seq) => this.retries.has(seq) || this.dead.has(seq))
      .map((seq) => ({ seq, isDead: this.dead.has(seq) }))
    const { position, trimmedTo, delivered } = this
    return { position, trimmedTo, delivered, head: matches, firstPosition: 0 as MatchSeq, outstanding }
  }

  write(change: LinkChange): void {
    const [retriesBefore, deadBefore] = [this.retries.size, this.dead.size]
    for (const seq of change.retriesGone) expect(this.retries.delete(seq)).toBe(true)
    for (const seq of change.deadGone) expect(this.dead.delete(seq)).toBe(true)
    for (const retry of change.retries) this.retries.set(retry.seq, retry)
    for (const dead of change.dead) {
      expect(this.dead.has(dead.seq), "a dead letter that is there goes first").toBe(false)
      this.dead.set(dead.seq, dead)
    }
    this.position = change.position
    this.delivered += change.delivered
    this.expired += change.expired
    expect([change.retriesBy, change.deadLettersBy]).toEqual([
      this.retries.size - retriesBefore,
      this.dead.size - deadBefore,
    ])
  }

  counts() {
    const { delivered, retries, dead, expired, missed } = this
    return { delivered, retry: retries.size, "dead-letter": dead.size, expired, missed }
  }
}

/** A link by its definition: the state of each match. */
class ModelLink {
  readonly states: DeliveryState[] = Array<DeliveryState>(matches).fill("waiting")

  apply(seq: number, event: DeliveryEvent): void {
    const state = this.states[seq - 1] ?? "waiting"
    const next = nextState[state][event]
    if (next !== "refused") this.states[seq - 1] = next
  }

  all(state: DeliveryState): readonly MatchSeq[] {
    return this.states.flatMap((one, index) => (one === state ? [(index + 1) as MatchSeq] : []))
  }

  counts() {
    const count = (state: DeliveryState): number => this.all(state).length
    const [retry, expired, missed] = [count("retry"), count("expired"), count("missed")]
    return { delivered: count("delivered"), retry, "dead-letter": count("dead-letter"), expired, missed }
  }
}

type Fate = "deliver" | "retry" | "dead-letter"

/** Progress of which each match of the events is named as a sender names it, and its events. */
interface Sent {
  readonly progress: LinkProgress
  readonly fates: readonly (readonly [seq: MatchSeq, fate: Fate])[]
}

function sent(link: KeptLink, fates: readonly Fate[]): Sent {
  const outstanding = [...link.retries.keys()].slice(0, 2)
  const passed = Math.min(matches - link.position, Math.max(fates.length - outstanding.length, 0))
  const seqsOf = [...outstanding, ...Array.from({ length: passed }, (_, index) => link.position + index + 1)]
  const named = seqsOf.map((seq, index): readonly [MatchSeq, Fate] => [seq as MatchSeq, fates[index] ?? "deliver"])
  const of = (fate: Fate): readonly MatchSeq[] => named.filter((one) => one[1] === fate).map(([seq]) => seq)
  return {
    fates: named,
    progress: progress(link.position + passed, {
      delivered: of("deliver").length,
      retries: of("retry").map((seq) => aRetry(seq)),
      dead: of("dead-letter").map((seq) => aDeadMatch(seq)),
      settled: outstanding.filter((seq) => !of("retry").includes(seq)),
    }),
  }
}

type Step =
  | { readonly kind: "save"; readonly fates: readonly Fate[]; readonly overtakenBy: number }
  | { readonly kind: "again" }
  | { readonly kind: "redeliver"; readonly seqs: readonly number[] }
  | { readonly kind: "expire" }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("save" as const),
    fates: fc.array(fc.constantFrom<Fate>("deliver", "retry", "dead-letter"), { maxLength: 6 }),
    overtakenBy: fc.constantFrom(0, 0, 2),
  }),
  fc.record({ kind: fc.constant("again" as const) }),
  fc.record({
    kind: fc.constant("redeliver" as const),
    seqs: fc.array(fc.integer({ min: 1, max: matches }), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant("expire" as const) }),
)

test("after any saves, repeats, redeliveries and trims, each match is in the state of the table of states", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 25 }), (steps) => {
      const [link, model] = [new KeptLink(), new ModelLink()]
      let last: Sent | undefined
      for (const step of steps) last = take(step, link, model, last)
      expect(link.position).toBeGreaterThanOrEqual(0)
    }),
  )
})

function take(step: Step, link: KeptLink, model: ModelLink, last: Sent | undefined): Sent | undefined {
  switch (step.kind) {
    case "save": {
      // Retention passes the cursor while the progress is on its way.
      const next = sent(link, step.fates)
      retain(link, model, link.position + step.overtakenBy)
      save(link, model, next)
      check(link, model)
      return next
    }
    case "again":
      if (last !== undefined) save(link, model, last)
      break
    case "redeliver":
      redeliver(link, model, step.seqs as MatchSeq[])
      break
    case "expire":
      link.write(expire(link.before([...link.dead.keys()]), [...link.dead.keys()]))
      for (const seq of model.all("dead-letter")) if (seq <= link.trimmedTo) model.apply(seq, "expire")
  }
  check(link, model)
  return last
}

function save(link: KeptLink, model: ModelLink, { progress: saved, fates }: Sent): void {
  link.write(progressChange(link.before(namedIn(saved)), [saved]))
  for (const [seq, fate] of fates) {
    // A match that is delivered as the cursor passes it is only counted. So it is delivered while it waits, and never again.
    const isNamed = fate !== "deliver" || saved.settled.includes(seq)
    if (isNamed || model.states[seq - 1] === "waiting") model.apply(seq, fate)
  }
}

function retain(link: KeptLink, model: ModelLink, upTo: number): void {
  const to = Math.min(upTo, matches) as MatchSeq
  if (to === link.position) return
  const { missed, gap } = overtake({ position: link.position, newest: undefined }, to, 1)
  expect([gap.from, gap.to]).toEqual([link.position + 1, to])
  link.missed += missed
  link.position = to
  link.trimmedTo = to
  for (let seq = 1; seq <= to; seq += 1) model.apply(seq, "overtake")
}

function redeliver(link: KeptLink, model: ModelLink, named: readonly MatchSeq[]): void {
  const found = named.map((seq) => {
    const failures = link.retries.get(seq)?.failures ?? null
    return { seq, epoch: null, failures, isDead: link.dead.has(seq), bytes: 1 }
  })
  const all = named.map((seq) => ({ linkId: "31" as LinkId, seq }))
  const { outcomes, change } = redeliverMatches(link.before([]), found, new RetryRoom(0, 0), all)
  link.write(change)
  for (const [index, seq] of named.entries()) {
    const isTrimmed = model.all("delivered").includes(seq) && seq <= link.trimmedTo
    if (!isTrimmed) model.apply(seq, "redeliver")
    expect(outcomes[index] === "redelivered").toBe(model.all("retry").includes(seq))
  }
}

function check(link: KeptLink, model: ModelLink): void {
  expect(link.counts()).toEqual(model.counts())
  expect([...link.retries.keys()].toSorted((a, b) => a - b)).toEqual(model.all("retry"))
  expect([...link.dead.keys()].toSorted((a, b) => a - b)).toEqual(model.all("dead-letter"))
}

test("the cursor never moves back", () => {
  const before = { position: 7 as MatchSeq, trimmedTo: 0, outstanding: [] }
  expect(progressChange(before, [progress(5, { delivered: 5 })])).toMatchObject({ position: 7, delivered: 0 })
})

test("several saves of one link apply their changes one after the other", () => {
  const before = { position: 0 as MatchSeq, trimmedTo: 0, outstanding: [] }
  const first = progress(3, { delivered: 1, retries: [aRetry(2), aRetry(3)] })
  const second = progress(4, { delivered: 2, settled: seqs(2) })
  expect(progressChange(before, [first, second])).toMatchObject({
    position: 4,
    delivered: 3,
    retriesBy: 1,
    retries: [aRetry(3)],
    retriesGone: [],
  })
})

test("progress is deliveries alone when it names no match, and each link once", () => {
  const plain = progress(3, { delivered: 3 })
  expect(isDeliveredOnly([plain, { ...plain, linkId: "32" as LinkId }])).toBe(true)
  expect(isDeliveredOnly([plain, plain])).toBe(false)
  const named = [{ retries: [aRetry(1)] }, { dead: [aDeadMatch(1)] }, { settled: seqs(1) }]
  for (const more of named) expect(isDeliveredOnly([progress(3, more)])).toBe(false)
})
