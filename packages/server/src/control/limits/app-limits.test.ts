import { limitedEndpoints, parseRequestBounds, profileFigures } from "@sluice/api"
import { expect, test } from "vitest"
import { allRequestWindows, endpointOf, limitsOf, requestWindows, type ServerLimits } from "./app-limits.ts"

const server: ServerLimits = {
  profile: "x-pay-per-use",
  requests: {},
  rulesMax: 1_000,
  ruleCharactersMax: 1_024,
  connectionsMax: 1,
  postsPerSecondMax: 250,
  postsPerMonthMax: 3_000_000,
  capResetDay: 1,
}

test("the figures of a profile are the windows of its endpoints, the shortest first", () => {
  for (const endpoint of limitedEndpoints) {
    const { app, user } = profileFigures("x-pay-per-use", endpoint)
    const windows = requestWindows(server, {}, endpoint)
    expect(windows.filter(({ windowMs }) => windowMs > 1_000).map(({ per, max }) => [per, max])).toEqual([
      ...(app === undefined ? [] : [["app", app]]),
      ...(user === undefined ? [] : [["user", user]]),
    ])
    for (const wanted of ["app", "user"]) {
      const own = windows.filter(({ per }) => per === wanted)
      expect(own).toEqual(own.toSorted((a, b) => a.windowMs - b.windowMs))
    }
    expect(requestWindows({ ...server, profile: "none" }, {}, endpoint)).toEqual([])
  }
  expect(requestWindows(server, {}, "GET /2/tweets/search/all")).toEqual([
    { per: "app", max: 1, windowMs: 1_000 },
    { per: "user", max: 1, windowMs: 1_000 },
    { per: "app", max: 300, windowMs: 900_000 },
  ])
})

test("each figure is the app's, else the setting's, else the profile's, and 0 is no bound", () => {
  const requests = parseRequestBounds("GET /2/tweets app 7, GET /2/tweets user 0,GET /2/users app 9")
  const own = { limits: { requests: { "GET /2/tweets": { app: 3 } }, rules: 5, posts_per_month: 0 } }
  const of = (endpoint: (typeof limitedEndpoints)[number]): readonly unknown[] =>
    allRequestWindows({ ...server, requests }, own).flatMap((one) =>
      one.endpoint === endpoint ? [[one.per, one.max]] : [],
    )
  expect(of("GET /2/tweets")).toEqual([["app", 3]])
  expect(of("GET /2/users")).toEqual([
    ["app", 9],
    ["user", 900],
  ])
  expect(limitsOf(server, own)).toEqual({
    rulesMax: 5,
    ruleCharactersMax: 1_024,
    connectionsMax: 1,
    postsPerSecondMax: 250,
    capResetDay: 1,
    hasCredits: true,
    hasComplianceStreams: false,
  })
})

test("a setting that names no endpoint, or no number, is refused", () => {
  for (const text of ["GET /2/nothing app 7", "GET /2/tweets app", "GET /2/tweets all 7", "GET /2/tweets app -1", ""]) {
    expect(() => parseRequestBounds(text), text).toThrow("must name endpoints")
  }
})

test("an endpoint is a method and a path, and a HEAD is of the GET", () => {
  expect(endpointOf("HEAD", "/2/tweets")).toBe("GET /2/tweets")
  expect(endpointOf("GET", "/sluice/v1/apps")).toBeUndefined()
  expect(endpointOf("GET", undefined)).toBeUndefined()
})
