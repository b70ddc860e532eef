import fc from "fast-check"
import { expect, test } from "vitest"
import { beforeFirstMatch, type AppId, type LinkId, type MatchSeq, type WebhookId } from "../model/ids.ts"
import type { LinkTally } from "../model/link.ts"
import { confirmedIn, prove, type AttemptEvidence, type Proof, type ProofFacts } from "./proof.ts"

const appId = "5" as AppId
const linkId = "7" as LinkId
const seq = (value: number): MatchSeq => value as MatchSeq

function tally(change: Partial<LinkTally> = {}): LinkTally {
  return {
    linkId,
    appId,
    webhookId: "12" as WebhookId,
    firstPosition: seq(2),
    position: seq(9),
    delivered: 3,
    retries: 1,
    deadLetters: 1,
    expired: 1,
    missed: 1,
    withdrawn: 0,
    ...change,
  }
}

type StoreFacts = Omit<ProofFacts, "attempts">

function audit(change: Partial<StoreFacts> = {}): StoreFacts {
  return {
    posts: { accepted: 10, trimmed: 2, stored: 8 },
    logs: [{ appId, head: seq(10), trimmedTo: seq(4), entries: 6 }],
    links: [tally()],
    ...change,
  }
}

/** Evidence from the attempts of the link. */
function evidence({
  last = seq(9),
  delivered = seqs(),
  unsettled = seqs(),
}: {
  last?: MatchSeq
  delivered?: ReadonlySet<MatchSeq>
  unsettled?: ReadonlySet<MatchSeq>
} = {}): ReadonlyMap<LinkId, AttemptEvidence> {
  return new Map([[linkId, { last, confirmed: confirmedIn(tally(), delivered, unsettled) }]])
}

function seqs(...values: readonly number[]): ReadonlySet<MatchSeq> {
  return new Set(values.map(seq))
}

/** Contradictions, in words. */
function faults(store: StoreFacts, attempts = evidence()): readonly string[] {
  const { proof, findings } = prove({ ...store, attempts })
  const texts = findings.filter(({ level }) => level === "error").map(({ text }) => text)
  expect(proof.holds).toBe(texts.length === 0)
  return texts
}

test("a store whose numbers add up is proved, with the numbers", () => {
  const attempts = evidence({ delivered: seqs(1, 3, 4, 5, 6, 10), unsettled: seqs(6) })
  const { proof, findings } = prove({ ...audit(), attempts })
  expect(proof).toEqual<Proof>({
    holds: true,
    posts: { accepted: 10, trimmed: 2, stored: 8 },
    matches: { appended: 10, trimmed: 4, kept: 6 },
    links: [
      {
        application_id: appId,
        webhook_id: "12" as WebhookId,
        owed: 8,
        delivered: 3,
        retrying: 1,
        dead_letters: 1,
        expired: 1,
        missed: 1,
        withdrawn: 0,
        waiting: 1,
        // 1 came before the link, 6 is a retry, 10 is ahead of the cursor.
        confirmed: 3,
      },
    ],
  })
  expect(findings.map(({ level, text }) => `${level}: ${text}`)).toEqual([
    "ok: 10 posts acknowledged = 8 stored + 2 taken by retention.",
    "ok: 10 matches logged = 6 kept + 4 taken by retention.",
    "ok: 1 link: 8 to deliver = 3 delivered + 1 waiting + 1 retried + 1 dead letters + 1 expired + 1 missed + 0 withdrawn. " +
      "The kept attempts show 3 of the delivered ones.",
  ])
})

test("an empty store is proved", () => {
  const nothing = { posts: { accepted: 0, trimmed: 0, stored: 0 }, logs: [], links: [] }
  expect(faults(nothing, new Map())).toEqual([])
  const idle = tally({
    firstPosition: beforeFirstMatch,
    position: beforeFirstMatch,
    delivered: 0,
    retries: 0,
    deadLetters: 0,
    expired: 0,
    missed: 0,
    withdrawn: 0,
  })
  expect(faults({ ...nothing, links: [idle] }, new Map())).toEqual([])
})

test.each<[what: string, store: StoreFacts, said: string]>([
  [
    "a lost post",
    audit({ posts: { accepted: 10, trimmed: 2, stored: 7 } }),
    "1 acknowledged post is missing: 10 were accepted, retention took 2, and 7 are stored.",
  ],
  [
    "a post too many",
    audit({ posts: { accepted: 10, trimmed: 2, stored: 10 } }),
    "2 posts more are stored than there can be: 10 were accepted, retention took 2, and 10 are stored.",
  ],
  [
    "a lost match",
    audit({ logs: [{ appId, head: seq(10), trimmedTo: seq(4), entries: 5 }] }),
    "The match log of app 5 has 5 entries from 5 to 10: 1 missing.",
  ],
  [
    "a match too many",
    audit({ logs: [{ appId, head: seq(10), trimmedTo: seq(4), entries: 8 }] }),
    "The match log of app 5 has 8 entries from 5 to 10: 2 too many.",
  ],
  [
    "a match that a link has passed and no counter holds",
    audit({ links: [tally({ delivered: 2 })] }),
    "The link to webhook 12 has passed 7 matches and accounts for 6: " +
      "2 delivered, 1 retried, 1 dead letter, 1 expired, 1 missed, 0 withdrawn.",
  ],
  [
    "a match that a link counts twice",
    audit({ links: [tally({ retries: 2 })] }),
    "The link to webhook 12 has passed 7 matches and accounts for 8: " +
      "3 delivered, 2 retried, 1 dead letter, 1 expired, 1 missed, 0 withdrawn.",
  ],
  [
    "a cursor beyond the log",
    audit({ links: [tally({ position: seq(11), delivered: 5 })] }),
    "The link to webhook 12 stands at 11, beyond the newest match 10: those that come up to there would not be sent.",
  ],
  [
    "a cursor that retention overtook in silence",
    audit({ links: [tally({ position: seq(3), delivered: 0, retries: 0, deadLetters: 0, expired: 0 })] }),
    "The link to webhook 12 stands at 3, retention took what is up to 4, and no gap marker says so.",
  ],
])("%s is an error with the reason", (_, store, said) => {
  expect(faults(store)).toEqual([said])
})

test("impossible attempts are an error", () => {
  expect(faults(audit(), evidence({ last: seq(11) }))).toEqual([
    "The link to webhook 12 has an attempt at match 11, and the newest match is 10.",
  ])
  expect(faults(audit(), evidence({ delivered: seqs(3, 4, 5, 6, 7, 8) }))).toEqual([
    "The link to webhook 12 counts 3 matches as delivered, and its attempts show 6 of them.",
  ])
})

test("sends ahead of the cursor, and replays of expired or missed matches, are no error", () => {
  expect(faults(audit(), evidence({ last: seq(10), delivered: seqs(10, 1, 2) }))).toEqual([])
  expect(faults(audit(), evidence({ delivered: seqs(3, 4, 5, 6, 7) }))).toEqual([])
  expect(faults(audit(), evidence({ delivered: seqs(3, 4, 5, 6, 7, 8, 9), unsettled: seqs(8, 9) }))).toEqual([])
})

test("a link of an app without a log is accounted for too", () => {
  expect(faults(audit({ logs: [] }))).toEqual([
    "The link to webhook 12 stands at 9, beyond the newest match 0: those that come up to there would not be sent.",
    "The link to webhook 12 has an attempt at match 9, and the newest match is 0.",
  ])
})

const places = ["delivered", "retries", "deadLetters", "expired", "missed"] as const

test("the numbers of any history add up, and any single wrong number is found", () => {
  const history = fc.record({
    before: fc.nat(50),
    passed: fc.array(fc.constantFrom(...places), { maxLength: 40, size: "max" }),
    ahead: fc.nat(20),
    trimmed: fc.nat(200),
  })
  const slip = fc.record({
    number: fc.constantFrom(...places, "firstPosition", "entries", "accepted", "stored"),
    by: fc.constantFrom(-2, -1, 1, 2),
  })
  fc.assert(
    fc.property(history, slip, ({ before, passed, ahead, trimmed }, { number, by }) => {
      const position = before + passed.length
      const head = position + ahead
      const trimmedTo = Math.min(trimmed, position)
      const counts = Object.fromEntries(places.map((place) => [place, passed.filter((one) => one === place).length]))
      const changed = (name: string, value: number): number => (name === number ? value + by : value)
      const store = (turn: (name: string, value: number) => number): StoreFacts => ({
        posts: { accepted: turn("accepted", 9), trimmed: 4, stored: turn("stored", 5) },
        logs: [
          {
            appId,
            head: seq(head),
            trimmedTo: seq(trimmedTo),
            entries: turn("entries", head - trimmedTo),
          },
        ],
        links: [
          tally({
            firstPosition: seq(turn("firstPosition", before)),
            position: seq(position),
            ...Object.fromEntries(places.map((place) => [place, turn(place, counts[place] ?? 0)])),
          }),
        ],
      })
      expect(
        faults(
          store((_, value) => value),
          new Map(),
        ),
      ).toEqual([])
      expect(faults(store(changed), new Map())).not.toEqual([])
    }),
  )
})
