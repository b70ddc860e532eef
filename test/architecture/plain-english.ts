/** Sentences that name the actor first: no clause begins one, and no word of the old dialect is left. */

/** Clauses in the place of a subject. "Whether" is left out: as in other APIs it begins the description of a flag. */
const clause = /^(What|Of|That|Where|Who(?:ever)?|Whatever|Nor)\b(?! not\b)./
const dialect = /\b(beside|besides|nobody|somebody|anybody|whatever|under way)\b/i

/** Sentences that begin with a clause or hold a word of the old dialect. */
export function faultySentences(sentences: readonly string[]): readonly string[] {
  return sentences.filter((sentence) => clause.test(sentence) || dialect.test(sentence))
}

/** The sentences of a comment: without code, tables, drawings and bullets. */
export function sentencesOfComment(comment: string): readonly string[] {
  return comment
    .replaceAll(/^ *(```[^]*?```|[|@].*| {3,}.*)$/gm, "\n\n")
    .replaceAll(/^ *([-*]|\d+\.) /gm, "\n\n")
    .replaceAll(/([.:?!]\)?)\s+/g, "$1\n\n")
    .split(/\n\s*\n/)
    .map((sentence) => sentence.replaceAll(/\s+/g, " ").trim())
    .filter((sentence) => sentence !== "")
}
