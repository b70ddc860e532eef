import { expect, test } from "vitest"
import { asId, type AppId, type AttemptId, type LinkId } from "../model/ids.ts"
import { readerOf } from "./readers.ts"

const appId = asId<AppId>("5")
const linkId = asId<LinkId>("7")

test("credentials that a client makes up have no owner of their own: all unknown ones share their turns", () => {
  const hash = new Uint8Array(32)
  expect(readerOf.appByConsumerKey("made up")).toEqual(readerOf.token(hash))
  expect(readerOf.appByConsumerKey("another")).toEqual(readerOf.token(new Uint8Array([1])))
  expect(readerOf.token(hash, appId)).toEqual({ kind: "request", owner: appId })
  expect(readerOf.isSessionEnded(hash, appId)).toEqual({ kind: "request", owner: appId })
})

test("an app is one owner, however many links it has", () => {
  const asked = { kind: "request", owner: appId }
  expect(readerOf.gaps(linkId, appId)).toEqual(asked)
  expect(readerOf.linkTally(linkId, appId)).toEqual(asked)
  expect(readerOf.attempts(linkId, 10, appId)).toEqual(asked)
  expect(readerOf.attempt(linkId, asId<AttemptId>("9"), appId)).toEqual(asked)
  expect(readerOf.retries(linkId, "core", appId)).toEqual({ kind: "log", owner: appId })
})
