/** Words too common to be the only positive clause of a rule; beside another clause they count like any. */

const stopwords = new Set(
  "a an and at but by com from http https if in is it its me my or rt the this to too via we www you".split(
    " ",
  ),
)

/** Whether the case-folded word is one. Source: the stop words of Gnip's PowerTrack documentation; X's live answers show `a`. */
export function isStopword(word: string): boolean {
  return stopwords.has(word)
}
