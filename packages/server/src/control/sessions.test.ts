import { expect, test } from "vitest"
import { createManualClock, type ManualClock } from "../runtime/manual-clock.testing.ts"
import { systemRandom } from "../runtime/random.ts"
import { createSecretBox } from "../runtime/secret-box.ts"
import { MemoryState, MemoryStore } from "../store/memory/memory-store.testing.ts"
import type { Apps } from "./apps.ts"
import { createSessions } from "./sessions.ts"

const box = createSecretBox(new Uint8Array(32), systemRandom)
const everyTokenIsAnOperators = { principalByHash: async () => ({ kind: "operator" }) } as unknown as Apps

function sessionsAt(clock: ManualClock, secretBox = box) {
  const store = new MemoryStore(new MemoryState())
  return createSessions({ apps: everyTokenIsAnOperators, store, secretBox, clock, random: systemRandom })
}

test("a session lasts twelve hours", async () => {
  const clock = createManualClock()
  const sessions = sessionsAt(clock)
  const begun = await sessions.begin("token")
  await clock.advance(12 * 3_600_000 - 1)
  expect(await sessions.of(begun?.cookie ?? "")).toMatchObject({ csrfToken: begun?.csrfToken })
  await clock.advance(1)
  expect(await sessions.of(begun?.cookie ?? "")).toBeUndefined()
})

test("a cookie has one spelling", async () => {
  const sessions = sessionsAt(createManualClock())
  const { cookie = "" } = (await sessions.begin("token")) ?? {}
  expect(await sessions.of(cookie)).toBeDefined()
  for (const spelled of [`${cookie}!!!!`, ` ${cookie}`, `${cookie}=`, cookie.replace(/^./, "$&*")]) {
    expect(await sessions.of(spelled), spelled).toBeUndefined()
  }
})

test("a code lasts ten minutes, and the oldest of more than a hundred is forgotten", async () => {
  const clock = createManualClock()
  const sessions = sessionsAt(clock)
  const [early, late] = [sessions.createCode("token"), sessions.createCode("token")]
  await clock.advance(10 * 60_000 - 1)
  expect(await sessions.beginWithCode(early)).toBeDefined()
  await clock.advance(1)
  expect(await sessions.beginWithCode(late)).toBeUndefined()
  const codes = Array.from({ length: 101 }, () => sessions.createCode("token"))
  expect(await sessions.beginWithCode(codes[0] ?? "")).toBeUndefined()
  expect(await sessions.beginWithCode(codes[1] ?? "")).toBeDefined()
})

test("a code may be tried again when the store could not say whose it is", async () => {
  let isAway = true
  const apps = {
    principalByHash: async () => {
      if (isAway) throw new Error("the store is away")
      return { kind: "operator" }
    },
  } as unknown as Apps
  const store = new MemoryStore(new MemoryState())
  const sessions = createSessions({ apps, store, secretBox: box, clock: createManualClock(), random: systemRandom })
  const code = sessions.createCode("token")
  await expect(sessions.beginWithCode(code)).rejects.toThrow("away")
  isAway = false
  expect(await sessions.beginWithCode(code)).toBeDefined()
  expect(await sessions.beginWithCode(code)).toBeUndefined()
})

test("a token signs its sessions out sixty times in 15 minutes, and others sign out meanwhile", async () => {
  const clock = createManualClock()
  const sessions = sessionsAt(clock)
  const signOut = async (token: string): Promise<void> => sessions.end((await sessions.begin(token))?.cookie ?? "")
  for (let count = 0; count < 60; count += 1) await signOut("busy")
  await clock.advance(60_000)
  await expect(signOut("busy")).rejects.toMatchObject({ status: 429, retryAfterMs: 14 * 60_000 })
  await signOut("other")
  await clock.advance(14 * 60_000)
  await signOut("busy")
})

test("a value sealed for another purpose, or under another key, is not a session", async () => {
  const clock = createManualClock()
  const sealed = JSON.stringify({ id: "a", hash: "b", csrf: "c", until: clock.nowMs() + 1_000 })
  const other = createSecretBox(new Uint8Array(32).fill(1), systemRandom)
  const cookies = [
    Buffer.from(box.seal(sealed)).toString("base64url"),
    (await sessionsAt(clock, other).begin("token"))?.cookie ?? "",
  ]
  for (const cookie of cookies) expect(await sessionsAt(clock).of(cookie)).toBeUndefined()
})
