/**
 * The rule and the posts of the playground as the fragment of a link, which browsers do not send to a server:
 * `#1.` and the base64url of a deflated JSON object. The digit is the version of the form.
 *
 * Fragments come from anywhere. Reading one checks its size before and while it is inflated, and takes two texts of it.
 */

/** A rule, and posts as they were pasted. */
export interface SharedState {
  readonly rule: string
  readonly posts: string
}

/** A fragment, read: nothing in it, a state, or why there is none. */
export type Opened =
  | { readonly kind: "nothing" }
  | { readonly kind: "state"; readonly state: SharedState }
  | { readonly kind: "problem"; readonly message: string }

/** Most characters of a fragment; a larger one is neither made nor read. Ours: programs for mail and chat cut longer links. */
export const fragmentCharactersMax = 32_000

/** Most bytes of the JSON of a fragment; inflating ends there. Ours: several times what a fragment holds of real posts. */
const stateBytesMax = 1_048_576

const versionMark = "1."

/** The fragment of a state, with its `#`; `undefined` when it would be too long. */
export async function fragmentOf({ rule, posts }: SharedState): Promise<string | undefined> {
  const bytes = new TextEncoder().encode(JSON.stringify({ rule, posts }))
  if (bytes.length > stateBytesMax) return undefined
  const deflated = await piped(bytes, new CompressionStream("deflate-raw"), Infinity)
  const fragment = `#${versionMark}${base64UrlOf(deflated)}`
  return fragment.length > fragmentCharactersMax ? undefined : fragment
}

/** The state of a fragment, given with its `#`. Never throws. */
export async function openFragment(fragment: string): Promise<Opened> {
  const text = fragment.replace(/^#/, "")
  if (text === "") return { kind: "nothing" }
  if (fragment.length > fragmentCharactersMax) return problem("it is too long")
  if (!text.startsWith(versionMark)) return problem("it is not a link of this playground")
  try {
    const bytes = await piped(
      bytesOfBase64Url(text.slice(versionMark.length)),
      new DecompressionStream("deflate-raw"),
      stateBytesMax,
    )
    return stateOf(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)))
  } catch (error) {
    return problem(error instanceof RangeError ? "it holds too much" : "it is damaged or was cut")
  }
}

function problem(why: string): Opened {
  return { kind: "problem", message: `The link cannot be opened: ${why}.` }
}

function stateOf(value: unknown): Opened {
  const { rule, posts } = (value ?? {}) as Readonly<Record<string, unknown>>
  if (typeof rule !== "string" || typeof posts !== "string") return problem("it has no rule and posts")
  return { kind: "state", state: { rule, posts } }
}

/** The bytes that come out of a transform. Throws a `RangeError` after `bytesMax`. */
async function piped(
  bytes: Uint8Array<ArrayBuffer>,
  transform: CompressionStream | DecompressionStream,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  const reader = new Blob([bytes]).stream().pipeThrough(transform).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    if (length > bytesMax) {
      await reader.cancel()
      throw new RangeError("too many bytes")
    }
    parts.push(value)
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

function base64UrlOf(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
}

/** Throws when the text is not base64url. */
function bytesOfBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}
