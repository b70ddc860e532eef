/** The text of a status, and its links, mentions, hashtags and card as entities. */
import { displayedLink, EntityLists, type Entities, type LinkEntity } from "../entities.ts"
import { filledOf, itemsOf, memberOf, objectOf, stringOf, type Members } from "../records.ts"
import { pointsOf, postText } from "../text-offsets.ts"
import { accountOf, type AccountName } from "./accounts.ts"
import { linkedTextOf, type TextLink } from "./html-text.ts"

/** Most mentions, hashtags and links of a status that are read, each. Ours: recorded statuses have at most 30. */
const entitiesMax = 1_000

/** A mention of a status, by the instance's number of the account. */
export interface StatusMention extends AccountName {
  readonly accountId: string | undefined
  readonly url: string | undefined
  /** The name as it came, and without its host. */
  readonly acct: string
  readonly localPart: string
}

/** Text and entities of a status. */
export interface StatusText {
  readonly text: string
  readonly entities: Entities
}

/** The mentions of a status whose accounts have names. */
export function mentionsOf(value: unknown, host: string): readonly StatusMention[] {
  return itemsOf(value)
    .slice(0, entitiesMax)
    .flatMap((item) => {
      const acct = stringOf(memberOf(item, "acct"))
      const account = accountOf(acct, host)
      if (account === undefined || acct === undefined) return []
      const localPart = acct.split("@", 1)[0] ?? acct
      return [
        {
          ...account,
          acct,
          localPart,
          accountId: filledOf(memberOf(item, "id")),
          url: filledOf(memberOf(item, "url")),
        },
      ]
    })
}

/** The text with its spoiler before it, and the entities in both. `hasQuote`: the quoted post stands for its link. */
export function statusText(status: Members, mentions: readonly StatusMention[], hasQuote: boolean): StatusText {
  const { text: whole, links } = linkedTextOf(stringOf(status.content) ?? "", {
    before: filledOf(status.spoiler_text),
    hiddenClasses: hasQuote ? ["quote-inline"] : [],
  })
  const text = postText(whole)
  const textEnd = pointsOf(text)
  // The last character of a text that was cut is an ellipsis, in the place of another one.
  const shownEnd = text === whole ? textEnd : textEnd - 1
  const entities = new EntityLists()
  const unshown = new Set(mentions)
  const tags = tagsOf(status.tags)
  for (const link of links.slice(0, entitiesMax)) {
    if (link.end > shownEnd) break
    const mention = mentionOf(link, mentions)
    if (mention === undefined) addLink(link, tags, entities)
    else {
      unshown.delete(mention)
      entities.mentions.push({ start: link.start, end: link.end, username: mention.username, id: mention.id })
    }
  }
  for (const { username, id } of unshown) entities.mentions.push({ start: textEnd, end: textEnd, username, id })
  addUnshownTags(tags, entities, textEnd)
  addCard(objectOf(status.card), links, entities.urls, textEnd)
  return { text, entities: entities.in(text) }
}

/** The mention that a link is: by its address, or by its text when the account's page has another one. */
function mentionOf({ href, classes, text }: TextLink, mentions: readonly StatusMention[]): StatusMention | undefined {
  const byUrl = mentions.find(({ url }) => url === href)
  if (byUrl !== undefined || !classes.includes("mention") || !text.startsWith("@")) return byUrl
  const name = text.slice(1).toLowerCase()
  return (
    mentions.find(({ username, acct }) => username.toLowerCase() === name || acct.toLowerCase() === name) ??
    mentions.find(({ localPart }) => localPart.toLowerCase() === name)
  )
}

/** A hashtag of a status. */
interface Tag {
  readonly name: string
  readonly url: string | undefined
}

function addUnshownTags(tags: readonly Tag[], entities: EntityLists, textEnd: number): void {
  if (tags.length === 0) return
  const shown = new Set(entities.hashtags.map(({ tag }) => foldedTag(tag)))
  for (const { name } of tags) if (!shown.has(foldedTag(name))) entities.addUnshown(name, textEnd)
}

function tagsOf(value: unknown): readonly Tag[] {
  return itemsOf(value)
    .slice(0, entitiesMax)
    .flatMap((item) => {
      const name = filledOf(stringOf(memberOf(item, "name"))?.replace(/^[#＃]/, ""))
      return name === undefined ? [] : [{ name, url: filledOf(memberOf(item, "url")) }]
    })
}

/** True for a tag of the status, by its name or by the address of its page. */
function isOneOf(tags: readonly Tag[], tag: string, href: string): boolean {
  const folded = foldedTag(tag)
  return tags.some(({ name, url }) => url === href || foldedTag(name) === folded)
}

/** Instances write the names of hashtags in lower case and without accents. */
function foldedTag(tag: string): string {
  const isPlain = /^\w*$/.test(tag)
  return (isPlain ? tag : tag.normalize("NFKD").replaceAll(/\p{M}/gu, "")).toLowerCase()
}

/** Adds a link that is no mention: a hashtag by its class or its address, or a link. */
function addLink(link: TextLink, tags: readonly Tag[], entities: EntityLists): void {
  const { start, end, href, classes, text } = link
  const tag = /^[#＃](.+)$/su.exec(text)?.[1]
  if (tag !== undefined && (classes.includes("hashtag") || isOneOf(tags, tag, href))) {
    entities.hashtags.push({ start, end, tag })
  }
  // A mention of an account that the instance does not know.
  else if (!(classes.includes("mention") && text.startsWith("@"))) entities.urls.push(linkOf(link))
}

function linkOf({ start, end, href, shown }: TextLink): LinkEntity {
  return { start, end, url: href, expanded_url: href, display_url: shown === "" ? displayedLink(href) : shown }
}

/**
 * Adds the page that the card describes to its link: the one with its address, else the first to the same host, since
 * the address may be that after a redirect. The card of a hashtag's or a mention's page says nothing of the post.
 */
function addCard(card: Members | undefined, links: readonly TextLink[], urls: LinkEntity[], textEnd: number): void {
  const url = filledOf(card?.url)
  if (card === undefined || url === undefined) return
  const page = { unwound_url: url, title: filledOf(card.title), description: filledOf(card.description) }
  const same = urls.findIndex((one) => one.url === url)
  if (same < 0 && links.some(({ href }) => href === url)) return
  const host = hostOf(url)
  const at = same < 0 ? urls.findIndex((one) => hostOf(one.url) === host) : same
  const unshown = { start: textEnd, end: textEnd, url, expanded_url: url, display_url: displayedLink(url) }
  urls[at < 0 ? urls.length : at] = { ...(urls[at] ?? unshown), ...page }
}

function hostOf(url: string): string {
  return (
    /^[a-z]+:\/\/([^/?#]*)/i
      .exec(url)?.[1]
      ?.toLowerCase()
      .replace(/^www\./, "") ?? url
  )
}
