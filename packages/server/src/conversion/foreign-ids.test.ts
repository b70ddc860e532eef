import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { snowflakeAtMs } from "@sluice/api"
import { isId } from "../model/ids.ts"
import {
  accountName,
  arrivalOfStatus,
  atNameOf,
  derivedId,
  foreignUserId,
  microsecondsOfTid,
  nameOfAt,
} from "./foreign-ids.ts"

const numbers = new Map([
  ["m.example", 0],
  ["n.example", 63],
])

const did = "did:plc:dclwtltrt2ggsryagfzk7dp4"

/** A TID of this time in µs, and of this clock. */
function tid(micros: number, clock = 0): string {
  let number = BigInt(micros) * 1024n + BigInt(clock)
  let text = ""
  for (let digit = 0; digit < 13; digit++, number /= 32n) {
    text = `${"234567abcdefghijklmnopqrstuvwxyz"[Number(number % 32n)]}${text}`
  }
  return text
}

const someMicros = fc.integer({ min: Date.parse("2011-01-01") * 1_000, max: Date.parse("2070-01-01") * 1_000 })

describe("post ids", () => {
  test.each([
    [`at://${did}/app.bsky.feed.post/3mptbyoeyc22k`, "2073416062820307669"],
    ["at://did:plc:amnbije7mr5g3pgxuun7q44o/app.bsky.feed.post/3mptbyqhi7s2f", "2073416071957857565"],
    ["at://did:plc:o2rolxey6s5k7d4lxcz3inl4/app.bsky.feed.post/3mptbyp7lu223", "2073416066473895515"],
    ["https://m.example/statuses/117024236332527350", "2083785435737996672"],
    ["https://m.example/statuses/117024236559579118", "2083785450269309824"],
  ])("the id of %s is %s", (name, id) => {
    expect(derivedId(name, numbers)).toBe(id)
  })

  test.each([
    ["a key that is no TID", `at://${did}/app.bsky.feed.post/self`],
    ["a TID with a digit that none has", `at://${did}/app.bsky.feed.post/3mptbyoeyc21k`],
    ["a TID whose first bit is 1", `at://${did}/app.bsky.feed.post/zzzzzzzzzzzzz`],
    ["a time before X's epoch", `at://${did}/app.bsky.feed.post/${tid(1_000_000)}`],
    ["a time beyond 41 bits of ms", `at://${did}/app.bsky.feed.post/${tid(2 ** 52)}`],
    ["a later version of a record without a TID", `at://${did}/app.bsky.feed.post/self#3mptbyoeyc22k`],
    ["a revision that is no TID", `at://${did}/app.bsky.feed.post/3mptbyoeyc22k#1111111111111`],
    ["a handle instead of a DID", "at://wren.example/app.bsky.feed.post/3mptbyoeyc22k"],
    ["a name without a key", `at://${did}/app.bsky.feed.post`],
    ["a name with a part too many", `at://${did}/app.bsky.feed.post/3mptbyoeyc22k/x`],
    ["a key that names a folder", `at://${did}/app.bsky.feed.post/..`],
    ["an instance without a number", "https://other.example/statuses/117024236332527350"],
    ["an id of the times when ids counted posts", "https://m.example/statuses/707682"],
    ["a leading zero", "https://m.example/statuses/0117024236332527350"],
    ["an id of Pleroma", "https://m.example/statuses/Al2KABLN3tuRoeE0A4"],
    ["an id of GoToSocial", "https://m.example/statuses/01H3QZ5Q4S8E8J0ZJ2X9Y3K7WD"],
    ["a number beyond 19 digits", "https://m.example/statuses/99999999999999999999"],
    ["an edit before X's epoch", "https://m.example/statuses/117024236332527350#1"],
    ["another name", "tag:m.example,2017-04-08:objectId=117350:objectType=Status"],
    ["no name", ""],
  ])("no id follows from %s", (_what, name) => {
    expect(derivedId(name, numbers)).toBeUndefined()
  })

  test("a later version of a record has the time of its revision and the same hash", () => {
    const key = tid(1_780_000_000_000_000)
    const first = BigInt(derivedId(`at://${did}/app.bsky.feed.post/${key}`, numbers) ?? 0)
    const later = BigInt(derivedId(`at://${did}/app.bsky.feed.post/${key}#${tid(1_780_000_001_000_007)}`, numbers) ?? 0)
    expect(later - first).toBe((1_000n << 22n) + 7n)
  })

  test("a later version of a status has the time of its edit and the same low bits", () => {
    const name = "https://m.example/statuses/117024236332527350"
    const later = BigInt(derivedId(`${name}#1785000000000`, numbers) ?? 0)
    expect(snowflakeAtMs(String(later))).toBe(1_785_000_000_000)
    expect(later % (1n << 22n)).toBe(BigInt(derivedId(name, numbers) ?? 0) % (1n << 22n))
  })

  test("the ids of a record are snowflakes of its time, within a millisecond", () => {
    fc.assert(
      fc.property(someMicros, fc.integer({ min: 0, max: 1_023 }), (micros, clock) => {
        const id = derivedId(`at://${did}/app.bsky.feed.post/${tid(micros, clock)}`, numbers) ?? ""
        expect(isId(id)).toBe(true)
        expect(snowflakeAtMs(id)).toBe(Math.floor(micros / 1_000))
      }),
    )
  })

  test("one author's records have ids in the order of their keys", () => {
    const steps = fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 2, maxLength: 20 })
    fc.assert(
      fc.property(someMicros, steps, (begin, gaps) => {
        let micros = begin
        const ids = gaps.map((gap) => BigInt(derivedId(`at://${did}/a.b.c/${tid((micros += gap))}`, numbers) ?? 0))
        expect(ids.every((id, at) => at === 0 || id > (ids[at - 1] ?? 0n))).toBe(true)
      }),
    )
  })

  test("different statuses of up to 64 instances have different ids, in the order of each instance", () => {
    const ids = fc.bigInt({ min: 96_683_950_080_000_000n, max: 200_000_000_000_000_000n })
    const number = fc.integer({ min: 0, max: 63 })
    fc.assert(
      fc.property(ids, number, ids, number, (id, of, other, ofOther) => {
        const hosts = new Map([
          ["a", of],
          ["b", ofOther],
        ])
        const one = BigInt(derivedId(`https://a/statuses/${id}`, hosts) ?? 0)
        const two = BigInt(derivedId(`https://b/statuses/${other}`, hosts) ?? 0)
        expect(one === two).toBe(id === other && of === ofOther)
        if (of === ofOther) expect(one < two).toBe(id < other)
        expect(snowflakeAtMs(String(one))).toBe(arrivalOfStatus(String(id)))
      }),
    )
  })
})

describe("names", () => {
  test("a name of AT Protocol is read and written alike", () => {
    const name = `at://${did}/app.bsky.feed.post/3mptbyoeyc22k`
    for (const one of [name, `${name}#3mptbyp7lu223`]) {
      const parts = atNameOf(one)
      expect(parts && nameOfAt(parts)).toBe(one)
    }
  })

  test("a TID's time is read as other programs write it", () => {
    expect(microsecondsOfTid("3jzfcijpj2z2a")).toBe(1_688_137_381_887_007)
    expect(microsecondsOfTid("7777777777777")).toBe(5_811_096_293_381_285)
    expect(microsecondsOfTid("2222222222222")).toBe(0)
  })

  test.each(["3jzfcijpj2z21", "0000000000000", "3JZFCIJPJ2Z2A", "3jzfcijpj2z2aa", "3jzfcijpj2z2", "kjzfcijpj2z2a", ""])(
    "%s is no TID",
    (text) => {
      expect(microsecondsOfTid(text)).toBeUndefined()
    },
  )
})

describe("user ids", () => {
  test.each([
    [did, "4986762970620853191"],
    ["did:plc:amnbije7mr5g3pgxuun7q44o", "6738559164201144724"],
    ["did:plc:o2rolxey6s5k7d4lxcz3inl4", "8648891850773448623"],
  ])("the id of %s is %s", (name, id) => {
    expect(foreignUserId(name)).toBe(id)
  })

  test("an account has one id, however its name is written", () => {
    expect(accountName("Wren@Oat.Example")).toBe("acct:wren@oat.example")
    expect(isId(foreignUserId(accountName("Wren@Oat.Example")))).toBe(true)
  })
})
