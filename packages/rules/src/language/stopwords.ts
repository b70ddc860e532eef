/**
 * Words that are too common to be the only positive clause of a rule. Next to another clause they count like any word.
 */

const stopwords = new Set(
  "a an and at but by com from http https if in is it its me my or rt the this to too via we www you".split(" "),
)

/** True if the case-folded word is a stopword. Source: Gnip's PowerTrack documentation; for `a`, X's live responses. */
export function isStopword(word: string): boolean {
  return stopwords.has(word)
}
