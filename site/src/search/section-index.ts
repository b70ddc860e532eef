/** The index of the sections of all documents. The build makes it as a text, and the page searches it. */
import MiniSearch, { type Options } from "minisearch"

/** A section, as it is indexed. */
export interface IndexedSection {
  /** Its address from the root of the site: the path of its page, and its anchor. */
  readonly id: string
  /** The title of its page. */
  readonly page: string
  readonly heading: string
  readonly text: string
}

/** A section, as a search finds it. */
export type FoundSection = Omit<IndexedSection, "text">

// Terms end at spaces and punctuation, in documents and queries alike: `url_title:` is two terms.
const options: Options<IndexedSection> = { fields: ["page", "heading", "text"], storeFields: ["page", "heading"] }

/** Returns the index of these sections as a text for `openIndex`. */
export function indexText(sections: readonly IndexedSection[]): string {
  const index = new MiniSearch(options)
  index.addAll(sections)
  return JSON.stringify(index)
}

/** Finds the sections that have every term of a query, best first. */
export type FindSections = (query: string) => readonly FoundSection[]

/**
 * Opens an index. The last term of a query may be the beginning of a word, and longer terms may have a wrong letter in five.
 */
export function openIndex(text: string): FindSections {
  const index = MiniSearch.loadJSON(text, options)
  return (query) =>
    index
      .search(query, {
        combineWith: "AND",
        prefix: (_, place, terms) => place === terms.length - 1,
        fuzzy: (term) => (term.length > 4 ? 0.2 : false),
        boost: { page: 2, heading: 4 },
      })
      .map(({ id, page, heading }) => ({ id, page, heading }))
}
