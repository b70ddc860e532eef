import { expect, test } from "vitest"
import { EmbeddingsUnavailable } from "./embeddings.ts"
import { keepErrorClasses, receivedError, sentError } from "./error-codec.ts"

class Known extends Error {
  override readonly name = "Known"
  readonly code = "KNOWN"
}

keepErrorClasses(Known)

/** The error, as it arrives in another thread. */
function crossed(error: unknown): Error {
  return receivedError(structuredClone(sentError(error)))
}

test("an error keeps its class, message, stack and fields, and so does its cause", () => {
  const error = new Known("It fails.", { cause: new EmbeddingsUnavailable("is away", { mayPass: true }) })
  const received = crossed(error)
  expect(received).toBeInstanceOf(Known)
  expect(received).toEqual(error)
  expect(received).toMatchObject({ code: "KNOWN", stack: error.stack })
  expect(received.cause).toBeInstanceOf(EmbeddingsUnavailable)
  expect(received.cause).toMatchObject({ what: "is away", mayPass: true })
})

test("an error of a class that is not registered arrives as its nearest registered class", () => {
  class Narrower extends Known {}
  class Unknown extends TypeError {}
  expect(crossed(new Narrower("a")).constructor).toBe(Known)
  expect(crossed(new Unknown("b")).constructor).toBe(TypeError)
  expect(crossed(Object.assign(new (class Other extends Error {})("c"), { code: "ENOENT" }))).toMatchObject({
    name: "Error",
    message: "c",
    code: "ENOENT",
  })
})

test("any thrown value arrives as an error, also with fields that cannot be cloned", () => {
  expect(crossed("text")).toEqual(new Error("text"))
  expect(crossed(Object.assign(new Error("odd"), { call: () => undefined }))).toEqual(new Error("odd"))
})
