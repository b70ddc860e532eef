import { afterEach, beforeEach, expect, test } from "vitest"
import { systemClock } from "./clock.ts"
import { startEmbeddingsEndpoint, type EmbeddingsEndpoint } from "./embeddings-endpoint.testing.ts"
import { createEmbeddings, EmbeddingsUnavailable, type Embeddings } from "./embeddings.ts"
import { createManualClock, type ManualClock } from "./manual-clock.testing.ts"

let endpoint: EmbeddingsEndpoint
let clock: ManualClock
let embeddings: Embeddings

beforeEach(async () => {
  endpoint = await startEmbeddingsEndpoint()
  clock = createManualClock()
  embeddings = createEmbeddings({ url: endpoint.url, model: "words", clock })
})

afterEach(async () => {
  await embeddings.close()
  await endpoint[Symbol.asyncDispose]()
})

function product(a: Float32Array = new Float32Array(), b: Float32Array = new Float32Array()): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? Number.NaN), 0)
}

/** The error of a refused request, once the wait before a second try is over. */
async function faultOf(texts: readonly string[] = ["cat", "dog"]): Promise<EmbeddingsUnavailable> {
  const outcome = embeddings.of(texts).then(
    () => expect.unreachable("it succeeded"),
    (error: unknown) => error,
  )
  const stop = new AbortController()
  void outcome.then(() => stop.abort())
  while (!stop.signal.aborted) {
    await systemClock.sleep(5)
    // Nothing but the wait before a second try is that short; the deadline stays far away.
    await clock.advance(10)
  }
  const error = await outcome
  expect(error).toBeInstanceOf(EmbeddingsUnavailable)
  return error as EmbeddingsUnavailable
}

function responding(status: number, body: string | ((right: unknown) => unknown)): void {
  endpoint.fault = (response, _, right) => {
    response.statusCode = status
    response.end(typeof body === "string" ? body : JSON.stringify(body(right)))
    return true
  }
}

test("texts become vectors of length 1, in the order of the texts and not of the response", async () => {
  const [cat, cats, dog] = await embeddings.of(["cat", "cat cat CAT", "dog"])
  expect(product(cat, cat)).toBeCloseTo(1, 6)
  expect(product(cat, cats)).toBeCloseTo(1, 6)
  expect(product(cat, dog)).toBe(0)
  expect(endpoint.asked).toMatchObject([{ model: "words", input: ["cat", "cat cat CAT", "dog"] }])
  expect(endpoint.asked[0]?.headers).not.toHaveProperty("authorization")
})

test("the key is sent as a bearer token", async () => {
  await using keyed = {
    embeddings: createEmbeddings({ url: endpoint.url, model: "words", key: "s3cret", clock }),
    [Symbol.asyncDispose]: () => keyed.embeddings.close(),
  }
  await keyed.embeddings.of(["cat"])
  expect(endpoint.asked[0]?.headers.authorization).toBe("Bearer s3cret")
})

test("many texts go out by 64, and no texts need no request", async () => {
  expect(await embeddings.of([])).toEqual([])
  expect(endpoint.asked).toEqual([])
  const texts = Array.from({ length: 150 }, (_, at) => "abcdefghijklmnop"[at % 16] ?? "")
  const vectors = await embeddings.of(texts)
  expect(endpoint.asked.map(({ input }) => input.length)).toEqual([64, 64, 22])
  expect(vectors).toHaveLength(150)
  for (const [at, vector] of vectors.entries()) expect(vector).toEqual(vectors[at % 16])
})

test("half a surrogate pair goes out as a replacement character", async () => {
  await embeddings.of(["cat \uD83D"])
  expect(endpoint.asked[0]?.input).toEqual(["cat \uFFFD"])
})

test("a text without any meaning becomes a vector of zeros", async () => {
  const [nothing] = await embeddings.of(["…"])
  expect(new Set(nothing)).toEqual(new Set([0]))
})

test.each([429, 500, 502, 503])("a request that gets a %i is retried once", async (status) => {
  let faults = 1
  endpoint.fault = (response) => {
    if (faults-- <= 0) return false
    response.statusCode = status
    response.end()
    return true
  }
  const pending = embeddings.of(["cat"])
  await expect.poll(() => clock.sleepers).toBe(2)
  await clock.advance(250)
  expect(await pending).toHaveLength(1)
  expect(endpoint.asked).toHaveLength(2)

  faults = 10
  expect((await faultOf()).message).toBe(`The embeddings endpoint responded with status ${status}.`)
  expect(endpoint.asked).toHaveLength(4)
})

test("a refused request is not repeated, and the message of the endpoint is its cause", async () => {
  responding(401, '{"error":{"message":"bad key"}}')
  const fault = await faultOf()
  expect(fault.message).toBe("The embeddings endpoint responded with status 401.")
  expect(fault.cause).toMatchObject({ message: '{"error":{"message":"bad key"}}' })
  expect(endpoint.asked).toHaveLength(1)
})

test("the key is removed from an error that would repeat it", async () => {
  await using withKey = {
    ...createEmbeddings({ url: endpoint.url, model: "words", key: "s3cret", clock }),
    [Symbol.asyncDispose]: () => withKey.close(),
  }
  responding(401, "no such key: Bearer s3cret")
  const fault: unknown = await withKey.of(["cat"]).catch((error: unknown) => error)
  expect(fault).toMatchObject({ cause: { message: "no such key: Bearer …" } })
})

test("a redirect is not followed", async () => {
  endpoint.fault = (response) => {
    response.writeHead(307, { location: `${endpoint.url}/elsewhere` }).end()
    return true
  }
  expect((await faultOf()).message).toBe("The embeddings endpoint responded with status 307.")
  expect(endpoint.asked).toHaveLength(1)
})

test("an endpoint that is down is reported after a retry, and the next call succeeds when it is up again", async () => {
  await endpoint.stop()
  expect((await faultOf()).message).toBe("The embeddings endpoint could not be reached (ECONNREFUSED).")
  await endpoint.start()
  expect(await embeddings.of(["cat"])).toHaveLength(1)
})

test("a request whose connection is cut off is retried once", async () => {
  let cuts = 1
  endpoint.fault = (response) => {
    if (cuts-- <= 0) return false
    response.socket?.destroy()
    return true
  }
  const pending = embeddings.of(["cat"])
  await expect.poll(() => clock.sleepers).toBe(2)
  await clock.advance(250)
  expect(await pending).toHaveLength(1)
})

test("a response that never comes, or never ends, times out after 10 s in all", async () => {
  for (const begin of ["", '{"data":[']) {
    endpoint.fault = (response) => {
      if (begin !== "") response.write(begin)
      return true
    }
    const outcome = embeddings.of(["cat"])
    outcome.catch(() => undefined)
    const before = endpoint.asked.length
    await expect.poll(() => endpoint.asked.length).toBe(before + 1)
    await clock.advance(9_999)
    expect(clock.sleepers).toBe(1)
    await clock.advance(1)
    await expect(outcome).rejects.toThrow("The embeddings endpoint did not respond within 10 s.")
  }
})

test("a response without an end is dropped when it is too long", async () => {
  let dropped: Promise<unknown> | undefined
  endpoint.fault = (response) => {
    dropped = new Promise((resolve) => response.once("close", resolve))
    const chunk = " ".repeat(1024 * 1024)
    const pump = (): void => {
      while (!response.destroyed && response.write(chunk));
      response.once("drain", pump)
    }
    pump()
    return true
  }
  expect((await faultOf()).message).toBe("The embeddings endpoint responded with more than 16777216 bytes.")
  await dropped
})

type RightResponse = { data: { index: unknown; embedding: unknown }[] }
const changed = (change: (response: RightResponse) => void) => (right: unknown) => {
  const response = structuredClone(right) as RightResponse
  change(response)
  return response
}
const first = (embedding: unknown) => changed(({ data }) => void (data[0] = { index: 1, embedding }))

test.each<readonly [what: string, body: string | ((right: unknown) => unknown), said: string]>([
  ["no JSON", "<html>", "responded with something that is not JSON."],
  ["cut off JSON", '{"data":[', "responded with something that is not JSON."],
  ["NaN", '{"data":[{"index":0,"embedding":[NaN]},{"index":1,"embedding":[1]}]}', "something that is not JSON."],
  ["nothing", "", "responded with something that is not JSON."],
  ["null", "null", "responded without a list in `data`."],
  ["an error with status 200", '{"error":"no such model"}', "responded without a list in `data`."],
  ["too few", changed(({ data }) => void data.pop()), "responded with 1 vectors for 2 texts."],
  ["too many", changed(({ data }) => void data.push({ index: 2, embedding: [1] })), "responded with 3 vectors for 2"],
  ["one twice", changed(({ data }) => void (data[0] = { index: 0, embedding: [1] })), "without the vector of index 1."],
  ["an index as text", changed(({ data }) => void (data[0] = { index: "1", embedding: [1] })), "of index 1."],
  ["no object", changed(({ data }) => void data.splice(0, 1, 1 as never)), "that is not a list of numbers."],
  ["an empty vector", first([]), "responded with a vector that is not a list of numbers."],
  ["base64", first("AACAPw=="), "responded with a vector that is not a list of numbers."],
  ["null in a vector", first([1, null]), "a vector that holds something other than finite numbers."],
  ["texts in a vector", first(["1"]), "a vector that holds something other than finite numbers."],
  ["too large a number", '{"data":[{"index":0,"embedding":[1e400]},{"index":1,"embedding":[1]}]}', "finite numbers."],
  ["larger than a float", first([1e39]), "a vector that holds something other than finite numbers."],
  ["different sizes", first([1, 2, 3]), "responded with vectors of different sizes: 256, 3."],
])("a wrong response is refused with a message, and not requested again: %s", async (_, body, said) => {
  responding(200, body)
  const { message } = await faultOf()
  expect(message).toMatch(/^The embeddings endpoint responded with/)
  expect(message.endsWith(said) || message.includes(said)).toBe(true)
  expect(endpoint.asked).toHaveLength(1)
})

test("closing aborts the requests in flight", async () => {
  endpoint.fault = () => true
  const outcome = embeddings.of(["cat"])
  outcome.catch(() => undefined)
  await expect.poll(() => endpoint.asked.length).toBe(1)
  await embeddings.close()
  await clock.advance(250)
  await expect(outcome).rejects.toBeInstanceOf(EmbeddingsUnavailable)
})
