/** Languages of posts, by the codes that X has for them. */

const namesOfX: ReadonlyMap<string, string> = new Map([
  ["he", "iw"],
  ["id", "in"],
  // X's code for Tagalog, the only one that `lang:` takes.
  ["fil", "tl"],
])

/** X's code of a BCP 47 tag: its first part, with X's older names; `und` for a text that is none. */
export function postLanguage(tag: unknown): string {
  if (typeof tag !== "string") return "und"
  const primary = /^([a-z]{2,3})(?:[-_]|$)/i.exec(tag)?.[1]?.toLowerCase()
  return primary === undefined ? "und" : (namesOfX.get(primary) ?? primary)
}

/** True for a BCP 47 tag, one of X's codes, or `und`. */
export function isLanguage(text: string): boolean {
  return text === "und" || (/^[a-z0-9-]{2,35}$/i.test(text) && postLanguage(text) !== "und")
}

/** The languages that a source takes, by X's codes; undefined takes all, `und` those without one. */
export type TakenLanguages = ReadonlySet<string> | undefined

/** The languages of a setting, which may have tags as people write them. */
export function takenLanguages(tags: readonly string[] | undefined): TakenLanguages {
  return tags === undefined || tags.length === 0 ? undefined : new Set(tags.map(postLanguage))
}

/** True if one of the languages is taken. A post without any has `und`. */
export function isTaken(taken: TakenLanguages, languages: readonly string[]): boolean {
  return taken === undefined || languages.some((language) => taken.has(language))
}
