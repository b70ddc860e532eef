import { expect, test } from "vitest"
import { databaseServersIn, placeOf } from "./database-url.ts"

test.each([
  ["postgres://u:p@db:5432/sluice", ["postgres://u:p@db:5432/sluice"], false],
  ["postgresql://db/sluice?sslmode=verify-full", ["postgresql://db/sluice?sslmode=verify-full"], false],
  ["postgres://u@db/s?target_session_attrs=read-write", ["postgres://u@db/s"], true],
  ["postgres://u@db/s?target_session_attrs=primary&sslmode=require", ["postgres://u@db/s?sslmode=require"], true],
  ["postgres://u@db/s?target_session_attrs=any", ["postgres://u@db/s"], false],
  ["postgres://u:p@a:1,b:2/s?x=1,2", ["postgres://u:p@a:1/s?x=1,2", "postgres://u:p@b:2/s?x=1,2"], true],
  ["postgres://[::1]:1,b/s?target_session_attrs=any", ["postgres://[::1]:1/s", "postgres://b/s"], true],
])("the servers of %s are %j, and must accept writes: %s", (url, urls, mustAcceptWrites) => {
  expect(databaseServersIn(url)).toEqual({ urls, mustAcceptWrites })
})

test.each([
  ["mysql://db/s", "must be a postgres:// or postgresql:// URL."],
  ["postgres://a:1,b:x/s", "must be a postgres:// or postgresql:// URL."],
  ["postgres://db/s?target_session_attrs=standby", "target_session_attrs is read-write, not standby."],
])("the URL %s is refused: %s", (url, reason) => {
  expect(() => databaseServersIn(url)).toThrow(reason)
})

test("the place of a database names every host, and no credentials", () => {
  expect(placeOf("postgres://u:secret@a:1,b:2/sluice?password=secret")).toBe("a:1,b:2/sluice")
})
