/** Tries a rule on posts through the server, and shows where it matched. */
import { ApiFault, type ApiClient } from "./api-client.ts"
import { Failure } from "./failure.ts"
import { openPostFile, type InputLine } from "./input-lines.ts"
import type { Terminal } from "./terminal.ts"
import { terminalText, textWidth } from "./terminal-text.ts"

/** An operator that held, and where: code points of the text that `where` names, end exclusive. */
interface Span {
  readonly operator: string
  readonly where: string
  readonly start?: number
  readonly end?: number
}

/** A post that a rule matched. */
export interface RuleMatch {
  readonly id: string
  readonly spans: readonly Span[]
}

/** Who hears of the test. */
export interface RuleTestListener {
  /** A match, with the post's text where it is known. */
  print(match: RuleMatch, postText: string | undefined): Promise<void>
  /** A line of the file that is no post. */
  skipped(line: number, reason: string): void
}

interface RuleTestBody {
  readonly data: readonly RuleMatch[]
  readonly meta: { readonly tested: number }
}

/** Most stored posts that a test without a file looks at. Source: contract, `"recent":1000`. */
const recentMax = 1000

/** A request's body stays below the 1 MiB that a server takes, its other members included. */
const postsBytesMax = 1_000_000

/** Runs the test and answers how many posts were looked at and how many matched. */
export async function testRule(
  client: ApiClient,
  value: string,
  file: string | undefined,
  listener: RuleTestListener,
): Promise<{ tested: number; matched: number }> {
  const valueJson = JSON.stringify(value)
  const ask = (rest: string): Promise<RuleTestBody> =>
    client.request<RuleTestBody>("POST", "/sluice/v1/rules/test", {
      body: { type: "application/json", content: `{"value":${valueJson},${rest}}` },
    })
  if (file === undefined) {
    const { data, meta } = await ask(`"recent":${String(recentMax)}`)
    for (const match of data) await listener.print(match, undefined)
    return { tested: meta.tested, matched: data.length }
  }
  const { lines } = await openPostFile(file)
  let tested = 0
  let matched = 0
  for await (const posts of chunksOf(lines, postsBytesMax - Buffer.byteLength(valueJson), listener)) {
    const texts = new Map(posts.map(({ id, text }) => [id, text]))
    const { data } = await ask(`"posts":[${posts.map(({ json }) => json).join(",")}]`).catch(
      (error: unknown) => {
        throw error instanceof ApiFault && error.status === 413 ? tooLarge(error) : error
      },
    )
    for (const match of data) await listener.print(match, texts.get(match.id))
    tested += posts.length
    matched += data.length
  }
  return { tested, matched }
}

function tooLarge(cause: ApiFault): Failure {
  return new Failure("The server takes less at a time than this command sends.", [cause.message], { cause })
}

interface TestPost {
  readonly id: string
  readonly text: string
  /** The line as it stands in the file. */
  readonly json: string
}

async function* chunksOf(
  lines: AsyncIterable<InputLine>,
  bytesMax: number,
  listener: RuleTestListener,
): AsyncGenerator<readonly TestPost[], void, void> {
  let posts: TestPost[] = []
  let byteCount = 0
  for await (const line of lines) {
    const lineBytes = line.kind === "line" ? line.bytes.length : line.byteCount
    if (line.kind === "too-long" || lineBytes > bytesMax) {
      listener.skipped(line.number, `The line has ${String(lineBytes)} bytes, which is too many for a test.`)
      continue
    }
    const post = testPost(line.bytes.toString("utf8").trim())
    if (typeof post === "string") {
      listener.skipped(line.number, post)
      continue
    }
    if (byteCount + lineBytes > bytesMax) {
      yield posts
      posts = []
      byteCount = 0
    }
    posts.push(post)
    byteCount += lineBytes + 1
  }
  if (posts.length > 0) yield posts
}

/** The post of a line, or why it is none. */
function testPost(json: string): TestPost | string {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return "The line is not JSON."
  }
  const { data } = (value ?? {}) as { data?: { id?: unknown; text?: unknown } }
  if (typeof data?.id !== "string" || typeof data.text !== "string") {
    return 'The line is not an envelope: {"data":{"id":"…","text":"…"}} with both as strings.'
  }
  return { id: data.id, text: data.text, json }
}

/** A match for people: the post with what matched made to stand out, then what matched where. */
export function matchedPost(
  match: RuleMatch,
  postText: string | undefined,
  terminal: Pick<Terminal, "style" | "columns">,
): string[] {
  const { style, columns } = terminal
  const id = style.strong(terminalText(match.id, 24))
  const reasons = [...new Set(match.spans.map(reasonOf))].join(" · ")
  const why = `  ${style.faint(terminalText(reasons, columns - 2))}`
  if (postText === undefined) return [id, why]
  return [`${id}  ${highlighted(postText, match.spans, columns - 22, style.mark)}`, why]
}

function reasonOf({ operator, where, start, end }: Span): string {
  return start === undefined || end === undefined
    ? `${operator} (${where})`
    : `${operator} (${where} ${String(start)}–${String(end)})`
}

/** The beginning of a text with the spans in it marked, cut to `columns`. */
function highlighted(
  text: string,
  spans: readonly Span[],
  columns: number,
  mark: (text: string) => string,
): string {
  const codePoints = Array.from(text.slice(0, columns * 4))
  const isMarked = codePoints.map(() => false)
  for (const { where, start = 0, end = 0 } of spans) if (where === "text") isMarked.fill(true, start, end)
  let line = ""
  let left = columns
  for (let from = 0; from < codePoints.length && left > 0;) {
    let to = from
    while (to < codePoints.length && isMarked[to] === isMarked[from]) to++
    const piece = terminalText(codePoints.slice(from, to).join(""), left)
    line += isMarked[from] === true ? mark(piece) : piece
    left -= textWidth(piece)
    from = to
  }
  return line
}
