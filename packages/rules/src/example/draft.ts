/** The content of a post, gathered operator by operator before it is written as an envelope. */

import type { Point } from "../language/area.ts"
import type { CountName } from "../language/rule.ts"
import type { Mode } from "../text/mode.ts"

/** How a post is written. */
export type Style = {
  readonly mode: Mode
  /** The id, unless a `sample:` needs another one. */
  readonly id: string
  /** A word for names, hosts and texts that are needed and not asked for. */
  readonly filler: string
  /** How the parts of the text stand: one after the other, the other way round, or with other words between them. */
  readonly order: "forward" | "backward" | "apart"
  /** True if marks stand in the text, as a person writes them, or are only listed. */
  readonly isMarked: boolean
}

/** A user as far as a rule asks for one. */
export type DraftUser = { id?: string; username?: string; readonly affiliations: string[] }

/** A link, with what is known of its page. */
export type DraftLink = { readonly url: string; readonly title?: string; readonly description?: string }

/** The content that operators have asked for so far. */
export type DraftPost = {
  readonly style: Style
  id: string
  readonly texts: string[]
  readonly hashtags: string[]
  readonly mentions: string[]
  readonly cashtags: string[]
  readonly links: DraftLink[]
  readonly mediaKinds: string[]
  readonly bio: string[]
  readonly bioName: string[]
  readonly bioLocation: string[]
  readonly author: DraftUser
  readonly repliedTo: DraftUser
  readonly reposted: DraftUser
  readonly flags: Set<string>
  readonly contexts: { readonly domain: string; readonly entity: string }[]
  readonly entities: string[]
  readonly places: string[]
  readonly counts: Map<CountName, number>
  country?: string
  point?: Point
  language?: string
  source?: string
  conversationId?: string
  replyTo?: string
  repostOf?: string
  quoteOf?: string
}

/** A draft in which nothing is asked for. */
export function emptyDraft(style: Style): DraftPost {
  return {
    style,
    id: style.id,
    texts: [],
    hashtags: [],
    mentions: [],
    cashtags: [],
    links: [],
    mediaKinds: [],
    bio: [],
    bioName: [],
    bioLocation: [],
    author: { affiliations: [] },
    repliedTo: { affiliations: [] },
    reposted: { affiliations: [] },
    flags: new Set(),
    contexts: [],
    entities: [],
    places: [],
    counts: new Map(),
  }
}
