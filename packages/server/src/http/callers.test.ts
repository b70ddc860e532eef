import { expect, test } from "vitest"
import type { Principal } from "../control/apps.ts"
import { Callers } from "./callers.ts"

/** A request with these headers, as Node presents them. */
function requestWith(...headers: readonly (readonly [name: string, value: string])[]): {
  readonly headers: Readonly<Record<string, string>>
  readonly rawHeaders: string[]
} {
  return {
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    rawHeaders: headers.flat(),
  }
}

const bearer = (text: string): ReturnType<typeof requestWith> => requestWith(["Authorization", text])

/** An app's principal, as far as a caller's name depends on it. */
function appOf(id: string): Principal {
  return { kind: "app", app: { id } } as unknown as Principal
}

test("a token is one caller, however its header is spelled", () => {
  const callers = new Callers()
  callers.remember(bearer("Bearer abc"), appOf("1"))
  const spellings = ["Bearer abc", "bearer abc", "BEARER abc", "Bearer  abc", `Bearer${" ".repeat(50)}abc`]
  expect(new Set(spellings.map((text) => callers.of(bearer(text))))).toEqual(new Set(["app 1"]))
})

test("all tokens and sessions of an app are one caller, and other apps are others", () => {
  const callers = new Callers()
  callers.remember(bearer("Bearer old"), appOf("1"))
  callers.remember(bearer("Bearer new"), appOf("1"))
  callers.remember(requestWith(["Cookie", "sluice_session=sealed"]), appOf("1"))
  callers.remember(bearer("Bearer other"), appOf("2"))
  callers.remember(bearer("Bearer operator"), { kind: "operator" })
  const names = ["old", "new", "other", "operator"].map((token) => callers.of(bearer(`Bearer ${token}`)))
  expect(names.slice(0, 2)).toEqual(["app 1", "app 1"])
  expect(callers.of(requestWith(["Cookie", "sluice_session=sealed"]))).toBe("app 1")
  expect(new Set(names).size).toBe(3)
})

test("requests without a token that has authenticated a caller are one caller, whatever they send", () => {
  const callers = new Callers()
  const unknown = [
    requestWith(),
    bearer(""),
    bearer("Bearer"),
    bearer("Basic abc"),
    ...Array.from({ length: 100 }, (_, number) => bearer(`Bearer unknown${number}`)),
    requestWith(["Authorization", "Bearer abc"], ["Authorization", "Bearer abc"]),
    requestWith(["Cookie", "sluice_session=forged"]),
  ]
  callers.remember(bearer("Bearer abc"), appOf("1"))
  expect(new Set(unknown.map((request) => callers.of(request))).size).toBe(1)
  // The header decides alone, as in authentication.
  callers.remember(requestWith(["Cookie", "sluice_session=sealed"]), appOf("1"))
  const both = requestWith(["Cookie", "sluice_session=sealed"], ["Authorization", "Bearer forged"])
  expect(callers.of(both)).toBe(callers.of(requestWith()))
})

test("a token that authenticates nobody any more is of no caller", () => {
  const callers = new Callers()
  const request = bearer("Bearer a")
  callers.remember(request, appOf("7"))
  expect(callers.of(request)).toBe("app 7")
  callers.forget(request)
  expect(callers.of(request)).toBe(callers.of(bearer("Bearer never seen")))
})

test("the number of remembered credentials is bounded", () => {
  const callers = new Callers()
  for (let number = 0; number <= 10_000; number++) callers.remember(bearer(`Bearer ${number}`), appOf("1"))
  expect(callers.of(bearer("Bearer 0"))).toBe(callers.of(requestWith()))
  expect(callers.of(bearer("Bearer 10000"))).toBe("app 1")
})
