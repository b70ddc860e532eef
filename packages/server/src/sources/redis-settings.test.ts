import { expect, test } from "vitest"
import { redisSettings } from "./redis-settings.ts"

const least = { name: "posts", type: "redis", url: "redis://127.0.0.1:6379", stream: "posts" }

test("a name, a URL and a stream are enough", () => {
  expect(redisSettings(least, {})).toEqual({
    name: "posts",
    url: "redis://127.0.0.1:6379",
    stream: "posts",
    group: "sluice",
    field: "envelope",
    deadLetterStream: "posts:dead",
  })
})

test("all members are taken, the password from where it is named", () => {
  const all = {
    ...least,
    url: "rediss://redis.example:6380/2",
    group: "g",
    field: "post",
    deadLetterStream: "dead",
    username: "sluice",
    passwordVariable: "REDIS_PASSWORD",
    caFile: "/etc/sluice/ca.pem",
  }
  const { password, ...settings } = redisSettings(all, { REDIS_PASSWORD: "secret" })
  expect(settings).toEqual({
    name: "posts",
    url: "rediss://redis.example:6380/2",
    stream: "posts",
    group: "g",
    field: "post",
    deadLetterStream: "dead",
    username: "sluice",
    caFile: "/etc/sluice/ca.pem",
  })
  expect(password?.()).toBe("secret")
})

test("members that have no use, or would make a circle, are refused with what would be right", () => {
  const refused: readonly (readonly [members: Readonly<Record<string, unknown>>, message: string])[] = [
    [{ stream: undefined }, "has no stream: name the key of the stream to read, such as posts."],
    [{ url: "nats://127.0.0.1" }, "has a url that begins with nats://, and must begin with redis:// or rediss://"],
    [{ url: "redis://:secret@127.0.0.1" }, "has a url that holds credentials"],
    [{ url: "redis://127.0.0.1/posts" }, "has a url with a path that is no number of a database"],
    [{ deadLetterStream: "posts" }, "dead letters would come back as posts."],
    [{ username: "sluice" }, "has a username without a password"],
    [{ caFile: "/ca.pem" }, "has a caFile, and its url does not begin with rediss://"],
    [{ consumer: "a" }, 'has an unknown member "consumer": it may have caFile, deadLetterStream, field, group,'],
  ]
  for (const [members, message] of refused) expect(() => redisSettings({ ...least, ...members }, {})).toThrow(message)
})
