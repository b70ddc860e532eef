/** `sink.ts COUNT CONSUMER_SECRET`: endpoints in a process of their own, and how fast deliveries come. */
import { startEndpoints } from "./endpoints.ts"
import { replyToEach } from "./child.ts"

/** A command to a sink. */
export type SinkMessage =
  /** Where the endpoints are. Reply: `urls`. */
  | { readonly kind: "urls" }
  /** Lets challenges succeed or fail. Reply: nothing. */
  | { readonly kind: "validity"; readonly areValid: boolean }
  /** Counts from nothing, up to so many deliveries. Reply: nothing. */
  | { readonly kind: "count"; readonly deliveries: number }
  /** All that is to come is on its way: what came before counts for nothing. Reply: nothing. */
  | { readonly kind: "begun" }
  /** Waits until they are there. Reply: `perSecond`, without the first tenth, in which everything starts. */
  | { readonly kind: "rate" }
  /** Reply: `bodies`, the first thousand that came. */
  | { readonly kind: "bodies" }

const bodiesKept = 1_000
const bodies: string[] = []
let seen = 0
let warmAt = 0
let wanted = Infinity
let warmMs = 0
let done = Promise.withResolvers<number>()

const [count, consumerSecret = ""] = process.argv.slice(2)
const endpoints = await startEndpoints(Number(count), consumerSecret, (_, body) => {
  seen += 1
  if (bodies.length < bodiesKept) bodies.push(body.toString("utf8"))
  if (seen === warmAt) warmMs = performance.now()
  if (seen === wanted) done.resolve(((wanted - warmAt) / (performance.now() - warmMs)) * 1000)
})

replyToEach<SinkMessage>(async (message) => {
  switch (message.kind) {
    case "urls":
      return { urls: endpoints.urls }
    case "validity":
      endpoints.areValid = message.areValid
      return {}
    case "count":
      seen = 0
      wanted = message.deliveries
      warmAt = Math.ceil(wanted / 10)
      done = Promise.withResolvers()
      return {}
    case "begun":
      if (seen > warmAt) {
        warmAt = seen
        warmMs = performance.now()
      }
      return {}
    case "rate":
      return { perSecond: await done.promise }
    case "bodies":
      return { bodies }
  }
})
