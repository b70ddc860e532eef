/** The entities of a foreign post in X's shape. */
import { entitiesInText } from "@sluice/rules"

/** A part of the text; code points, the end exclusive. An entity that the text does not show has both at its end. */
interface EntityPlace {
  readonly start: number
  readonly end: number
}

/** A hashtag or a cashtag. */
export interface TagEntity extends EntityPlace {
  readonly tag: string
}

/** A mention of a user. */
export interface MentionEntity extends EntityPlace {
  readonly username: string
  readonly id: string
}

/** A link. */
export interface LinkEntity extends EntityPlace {
  readonly url: string
  readonly expanded_url: string
  readonly display_url: string
  readonly unwound_url?: string | undefined
  readonly title?: string | undefined
  readonly description?: string | undefined
}

/** The lists of entities that are not empty. The object is always there: it decides, and the text is not searched. */
export interface Entities {
  readonly hashtags?: readonly TagEntity[] | undefined
  readonly mentions?: readonly MentionEntity[] | undefined
  readonly urls?: readonly LinkEntity[] | undefined
  readonly cashtags?: readonly TagEntity[] | undefined
}

/** Collects the entities of one post. */
export class EntityLists {
  readonly hashtags: TagEntity[] = []
  readonly mentions: MentionEntity[] = []
  readonly urls: LinkEntity[] = []

  /** Adds the hashtag at the end of the text, unless the post has it already. */
  addUnshown(tag: string, textEnd: number): void {
    const folded = tag.toLowerCase()
    if (this.hashtags.some((one) => one.tag.toLowerCase() === folded)) return
    this.hashtags.push({ start: textEnd, end: textEnd, tag })
  }

  /** The lists, with the cashtags of the text that overlap no other entity. */
  in(text: string): Entities {
    const cashtags = text.includes("$") ? this.#cashtagsIn(text) : []
    return {
      hashtags: filled(this.hashtags),
      mentions: filled(this.mentions),
      urls: filled(this.urls),
      cashtags: filled(cashtags),
    }
  }

  #cashtagsIn(text: string): readonly TagEntity[] {
    const found = entitiesInText(text).cashtags
    if (found.length === 0) return []
    const others = [...this.hashtags, ...this.mentions, ...this.urls].toSorted((a, b) => a.start - b.start)
    let next = 0
    return found.flatMap(({ value, start, end }) => {
      while (next < others.length && (others[next]?.end ?? 0) <= start) next++
      const other = others[next]
      return other !== undefined && other.start < end ? [] : [{ start, end, tag: value }]
    })
  }
}

function filled<Item>(list: readonly Item[]): readonly Item[] | undefined {
  return list.length === 0 ? undefined : list
}

/** Most characters of a link that readers see. Source: recorded posts of X, which show 20 to 30. */
const displayedCharacters = 30

/** A link as readers see it: without scheme and `www.`, cut with an ellipsis. */
export function displayedLink(url: string): string {
  const bare = url.replace(/^[a-z]+:\/\/(?:www\.)?/i, "").replace(/\/$/, "")
  const points = Array.from(bare.slice(0, 2 * displayedCharacters + 2))
  return points.length <= displayedCharacters ? bare : `${points.slice(0, displayedCharacters).join("")}…`
}
