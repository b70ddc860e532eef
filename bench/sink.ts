/** `sink.ts COUNT CONSUMER_SECRET`: endpoints in a separate process, which measure how fast deliveries come. */
import { startEndpoints } from "./endpoints.ts"
import { replyToEach } from "./child.ts"

/** A command to a sink. */
export type SinkMessage =
  /** Reply: `urls`, the URLs of the endpoints. */
  | { readonly kind: "urls" }
  /** Lets challenges succeed or fail. Reply: nothing. */
  | { readonly kind: "validity"; readonly areValid: boolean }
  /** Restarts the count, up to this many deliveries. Reply: nothing. */
  | { readonly kind: "count"; readonly deliveries: number }
  /** Begins the measurement: earlier deliveries do not count. Reply: nothing. */
  | { readonly kind: "begun" }
  /** Waits for all of them. Reply: `perSecond`, without the first tenth, in which everything starts. */
  | { readonly kind: "rate" }
  /** Reply: `bodies`, the first thousand deliveries. */
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
