/** Posts as rules see them, in the thread in which rules are tried. */
import type { Envelope } from "@sluice/api"
import { EarlierPosts, readPost, type Mode, type PostFacts, type Rule } from "@sluice/rules"
import { embeddingsIn, Similarities } from "../../matching/similarities.ts"
import type { Embeddings } from "../../runtime/embeddings.ts"

/** How posts are read. */
export interface PostReading {
  readonly mode: Mode
  readonly embeddings?: Embeddings | undefined
  /** Called before each post. When it rejects, the reading rejects with its error. */
  readonly pause: () => Promise<void> | undefined
  /** Knows places and links of other posts, and learns those of all of these before the first is read. */
  readonly earlier?: EarlierPosts
}

/** The posts, in their order, with what these rules compare of them. Throws `EmbeddingsUnavailable`. */
export async function* readPosts(
  rules: readonly Rule[],
  envelopes: readonly Envelope[],
  { mode, embeddings, pause, earlier = new EarlierPosts() }: PostReading,
): AsyncGenerator<PostFacts, void, void> {
  for (const envelope of envelopes) earlier.learn(envelope)
  const texts = rules.flatMap((rule) => embeddingsIn(rule).map(({ value }) => value))
  const compared =
    embeddings === undefined || texts.length === 0 ? undefined : await similaritiesOf(envelopes, texts, embeddings)
  for (const [at, envelope] of envelopes.entries()) {
    await pause()
    const similarity = compared?.[at]
    yield readPost(envelope, { mode, earlier, ...(similarity && { similarity }) })
  }
}

async function similaritiesOf(
  envelopes: readonly Envelope[],
  texts: readonly string[],
  embeddings: Embeddings,
): Promise<ReturnType<Similarities["compare"]>> {
  const similarities = new Similarities(embeddings)
  for (const text of texts) similarities.add(text)
  return similarities.compare(await similarities.fetch(envelopes))
}
