import { expect, test } from "vitest"
import { rabbitMqSettings } from "./rabbitmq-settings.ts"

const least = { name: "posts", type: "rabbitmq", url: "amqp://127.0.0.1:5672", queue: "posts" }

test("a name, a URL and a queue are enough", () => {
  expect(rabbitMqSettings(least, {})).toEqual({
    name: "posts",
    url: "amqp://127.0.0.1:5672",
    queue: "posts",
    prefetch: 250,
    deadLetterExchange: false,
    deadLetterQueue: "posts.dead",
  })
})

test("all members are taken, the password from where it is named", () => {
  const all = {
    ...least,
    url: "amqps://rabbit.example/a%2Fb",
    prefetch: 2_000,
    deadLetterExchange: true,
    username: "sluice",
    passwordVariable: "RABBITMQ_PASSWORD",
    caFile: "/etc/sluice/ca.pem",
  }
  const { password, ...settings } = rabbitMqSettings(all, { RABBITMQ_PASSWORD: "secret" })
  expect(settings).toEqual({
    name: "posts",
    url: "amqps://rabbit.example/a%2Fb",
    queue: "posts",
    prefetch: 2_000,
    deadLetterExchange: true,
    deadLetterQueue: "posts.dead",
    username: "sluice",
    caFile: "/etc/sluice/ca.pem",
  })
  expect(password?.()).toBe("secret")
  expect(rabbitMqSettings({ ...least, deadLetterQueue: "dead" }, {}).deadLetterQueue).toBe("dead")
})

test("members that have no use, or would make a circle, are refused with what would be right", () => {
  const refused: readonly (readonly [members: Readonly<Record<string, unknown>>, message: string])[] = [
    [{ queue: undefined }, "has no queue: name the queue to consume, such as posts."],
    [{ url: "amqp://guest:guest@127.0.0.1" }, "has a url that holds credentials"],
    [{ url: "amqp://127.0.0.1/a/b" }, "has a url with a path that is no virtual host"],
    [{ prefetch: 2_001 }, "has prefetch 2001: it must be a whole number from 1 to 2000."],
    [{ deadLetterQueue: "posts" }, "dead letters would come back as posts."],
    [{ deadLetterQueue: "dead", deadLetterExchange: true }, "dead letters go to one of them."],
    [{ username: "sluice" }, "has a username without a password, or the reverse"],
    [{ caFile: "/ca.pem" }, "has a caFile, and its url does not begin with amqps://"],
    [{ exchange: "a" }, 'has an unknown member "exchange": it may have caFile, deadLetterExchange, deadLetterQueue,'],
  ]
  for (const [members, message] of refused) {
    expect(() => rabbitMqSettings({ ...least, ...members }, {})).toThrow(message)
  }
})
