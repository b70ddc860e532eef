import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { AppId } from "../model/ids.ts"
import { createManualClock, type ManualClock } from "../runtime/manual-clock.testing.ts"
import { systemRandom } from "../runtime/random.ts"
import { createSecretBox } from "../runtime/secret-box.ts"
import { createSnowflakes } from "../runtime/snowflakes.ts"
import { openTestedStore } from "../store/tested-store.testing.ts"
import type { Store } from "../store/store.ts"
import { createApps, type Apps } from "./apps.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"

let directory: TemporaryDirectory
let store: Store
let clock: ManualClock
beforeEach(async () => {
  directory = await temporaryDirectory()
  store = await openTestedStore(directory.path)
  clock = createManualClock()
})
afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await directory.remove()
})

const masterKey = new Uint8Array(32).fill(7)

function apps(over: Store = store, key = masterKey): Apps {
  return createApps({
    store: over,
    secretBox: createSecretBox(key, systemRandom),
    snowflakes: createSnowflakes(clock, systemRandom),
    clock,
    random: systemRandom,
  })
}

/** The store with some of it replaced. */
function storeWith(replaced: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(replaced, name)
      const value: unknown = own ?? Reflect.get(target, name)
      return typeof value === "function" && own === undefined ? (value.bind(target) as unknown) : value
    },
  })
}

test("a token is listed with its name and its last use, which a stop saves", async () => {
  const own = apps()
  const token = await own.createToken("ingest", "CI of the zoo")
  const listed = async (from: Apps) => (await from.listTokens()).find(({ kind }) => kind === "ingest")
  const madeAtMs = clock.nowMs()
  expect(await listed(own)).toMatchObject({ name: "CI of the zoo", createdAtMs: madeAtMs })
  expect(await listed(own)).not.toHaveProperty("lastUsedAtMs")
  await clock.advance(5_000)
  expect(await own.principal(token)).toEqual({ kind: "ingest" })
  expect(await own.principal(`${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`)).toBeUndefined()
  expect(await listed(own)).toMatchObject({ lastUsedAtMs: madeAtMs + 5_000 })
  const closing = new AbortController()
  const saving = own.keepUses(closing.signal)
  expect(await listed(apps()), "not yet saved").not.toHaveProperty("lastUsedAtMs")
  closing.abort()
  await saving
  expect(await listed(apps())).toMatchObject({ name: "CI of the zoo", lastUsedAtMs: madeAtMs + 5_000 })
})

describe("an app's credentials", () => {
  test("an app's credentials are a recognizable token and digits, and the same after a restart", async () => {
    const made = await apps().create("own")
    expect(made.bearer_token).toMatch(/^sluice_app_[A-Za-z0-9_-]{43}$/)
    for (const id of [made.application_id, made.business_user_id, made.instance_id]) expect(id).toMatch(/^[0-9]{1,19}$/)
    const [app] = await apps().list()
    expect(app && apps().credentials(app)).toEqual(made)
    const other = await apps().create("other")
    expect(other.client_id).not.toBe(made.client_id)
    expect(other.client_secret).not.toBe(made.client_secret)
  })

  test("the store holds an app's token and secret in no readable form", async () => {
    const made = await apps().create("own")
    const [app] = await store.apps()
    const kept = JSON.stringify(app, (_name, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : value,
    )
    expect(kept).not.toContain(made.consumer_secret)
    expect(kept).not.toContain(made.client_secret)
    expect(kept).not.toContain(made.bearer_token)
  })

  test("an app's credentials belong to one app: every character of the token and of the secret counts", async () => {
    const own = apps()
    const made = await own.create("own")
    expect(await own.principal(made.bearer_token)).toMatchObject({
      kind: "app",
      app: { id: made.application_id },
    })
    expect(await own.bearerToken(made.consumer_key, made.consumer_secret)).toBe(made.bearer_token)
    for (let at = 0; at < made.bearer_token.length; at += 1) {
      expect(await own.principal(changedAt(made.bearer_token, at))).toBeUndefined()
    }
    for (let at = 0; at < made.consumer_secret.length; at += 1) {
      expect(await own.bearerToken(made.consumer_key, changedAt(made.consumer_secret, at))).toBeUndefined()
    }
  })

  test("an app's credentials are all new after a rotation, and the old ones end at once", async () => {
    const own = apps()
    const old = await own.create("own")
    expect(await own.principal(old.bearer_token)).toBeDefined()
    const fresh = await own.rotate(old.application_id as AppId)
    expect(fresh).toMatchObject({ application_id: old.application_id, instance_id: old.instance_id })
    expect(await own.principal(old.bearer_token)).toBeUndefined()
    expect(await own.bearerToken(old.consumer_key, old.consumer_secret)).toBeUndefined()
    expect(await own.principal(fresh?.bearer_token ?? "")).toBeDefined()
    expect(new Set([old.consumer_key, old.consumer_secret, fresh?.consumer_key, fresh?.consumer_secret]).size).toBe(4)
    expect(fresh?.client_id).toBe(old.client_id)
    expect(fresh?.client_secret).not.toBe(old.client_secret)
  })

  test("rotations at the same time follow each other, and no two have a secret in common", async () => {
    const own = apps()
    const old = await own.create("one")
    const id = old.application_id as AppId
    const fresh = await Promise.all([own.rotate(id), own.rotate(id), own.rotate(id)])
    expect(new Set(fresh.map((one) => one?.bearer_token)).size).toBe(3)
    const good = await Promise.all(fresh.map((one) => own.principal(one?.bearer_token ?? "")))
    expect(good.filter((principal) => principal !== undefined)).toHaveLength(1)
  })

  test("an app's credentials end with a revocation, and cannot be rotated back", async () => {
    const own = apps()
    const made = await own.create("own")
    expect(await own.principal(made.bearer_token)).toBeDefined()
    expect(await own.revoke(made.application_id as AppId)).toBe(true)
    expect(await own.principal(made.bearer_token)).toBeUndefined()
    expect(await own.bearerToken(made.consumer_key, made.consumer_secret)).toBeUndefined()
    expect(await own.rotate(made.application_id as AppId)).toBeUndefined()
    expect(await own.revoke("1" as AppId)).toBe(false)
  })
})

describe("a cached token", () => {
  test("a cached token is dropped as soon as a change is announced", async () => {
    const own = apps()
    const made = await own.create("own")
    expect(await own.principal(made.bearer_token)).toBeDefined()
    await store.revokeApp(made.application_id as AppId)
    expect(await own.principal(made.bearer_token)).toBeUndefined()
  })

  test("a cached token is valid for a second at most when the announcement is lost", async () => {
    const own = apps(storeWith({ onChange: () => () => undefined }))
    const made = await own.create("own")
    expect(await own.principal(made.bearer_token)).toBeDefined()
    await store.revokeApp(made.application_id as AppId)
    await clock.advance(1_000)
    expect(await own.principal(made.bearer_token)).toBeUndefined()
  })

  test("a known token is read again for its app alone, also after a change, and an unknown one for no app", async () => {
    const readers: (string | undefined)[] = []
    const token: Store["token"] = (hash, reader) => {
      readers.push(reader)
      return store.token(hash, reader)
    }
    const own = apps(storeWith({ token }))
    const made = await own.create("own")
    const operator = await own.createToken("operator")
    for (const given of [made.bearer_token, operator, changedAt(made.bearer_token, 20)]) await own.principal(given)
    expect(readers.splice(0)).toEqual([undefined, undefined, undefined])
    await own.create("another")
    for (const given of [made.bearer_token, operator, changedAt(made.bearer_token, 20)]) await own.principal(given)
    expect(readers).toEqual([made.application_id, "operator", undefined])
  })

  test("a token is not cached when something changed while it was read", async () => {
    let beforeReturn = (): Promise<unknown> => Promise.resolve()
    const app: Store["app"] = async (id) => {
      const found = await store.app(id)
      await beforeReturn()
      return found
    }
    const own = apps(storeWith({ app }))
    const made = await own.create("own")
    beforeReturn = () => {
      beforeReturn = () => Promise.resolve()
      return store.revokeApp(made.application_id as AppId)
    }
    await own.principal(made.bearer_token)
    expect(await own.principal(made.bearer_token)).toBeUndefined()
  })
})

test("operator and ingest tokens show their kind, and each is a new one", async () => {
  const own = apps()
  for (const kind of ["operator", "ingest"] as const) {
    const token = await own.createToken(kind)
    expect(token).toMatch(new RegExp(`^sluice_${kind}_[A-Za-z0-9_-]{43}$`))
    expect(await own.createToken(kind)).not.toBe(token)
    expect(await own.principal(token)).toEqual({ kind })
  }
})

function changedAt(text: string, at: number): string {
  return text.slice(0, at) + (text[at] === "0" ? "1" : "0") + text.slice(at + 1)
}
