/**
 * The proof that what was acknowledged is stored, and delivered or accounted for.
 *
 *     acknowledged post ─► stored ─► matches 1 … head of its apps' logs ─► each link: cursor and places
 *
 *     posts     accepted − trimmed = stored                  counted in the transactions that stored and trimmed them
 *     logs      head − trimmed to  = entries that are there  numbers without gaps, so a missing one shows
 *     links     position − first   = delivered + retries + dead letters + expired + missed + withdrawn
 *               trimmed to ≤ position ≤ head                 behind the cursor all is accounted for, ahead of it all is there
 *     attempts  no attempt at a match beyond the head; and the matches that the attempts show as delivered, other than
 *               those still retried, dead or ahead of the cursor, are at most delivered + expired + missed + withdrawn
 *
 * The history of attempts is bounded, written apart and sometimes late; so it can contradict the count, and not prove
 * it: an attempt ahead of the cursor is one whose progress is not saved yet, a delivered match without an attempt one
 * whose attempt was dropped. A replay sends matches in any state again, and retention may delete one in flight, hence
 * "at most".
 */
import { counted, fault, good, type Finding } from "./finding.ts"
import { beforeFirstMatch, type AppId, type LinkId, type MatchSeq, type WebhookId } from "../model/ids.ts"
import type { LinkTally } from "../model/link.ts"
import type { StoreAudit } from "../store/store-audit.ts"

/** The numbers, as they are printed. */
export interface Proof {
  /** True if all sums hold. */
  readonly holds: boolean
  readonly posts: { readonly accepted: number; readonly trimmed: number; readonly stored: number }
  /** Sums over all apps. */
  readonly matches: { readonly appended: number; readonly trimmed: number; readonly kept: number }
  readonly links: readonly LinkProof[]
}

/** The matches of one link by state: `owed` is the sum of all but `confirmed`. */
interface LinkProof {
  readonly application_id: AppId
  readonly webhook_id: WebhookId
  /** Matches since the link was made. */
  readonly owed: number
  readonly delivered: number
  readonly retrying: number
  readonly dead_letters: number
  readonly expired: number
  /** Matches whose posts were deleted. */
  readonly withdrawn: number
  readonly missed: number
  /** Ahead of the cursor. */
  readonly waiting: number
  /** Delivered matches that the kept attempts show too. */
  readonly confirmed: number
}

/** Evidence from the kept attempts of a link. */
export interface AttemptEvidence {
  /** Greatest position of an attempt; 0 without any. */
  readonly last: MatchSeq
  /** Matches that they show as delivered, as `confirmedIn` counts them. */
  readonly confirmed: number
}

/** The facts that a proof uses, all of one moment. */
export interface ProofFacts extends Pick<StoreAudit, "posts" | "logs" | "links"> {
  /** By link. */
  readonly attempts: ReadonlyMap<LinkId, AttemptEvidence>
}

/** Advice for sums that do not hold. */
const beyondRepair =
  "Keep the store as it is, restore the newest backup to another place (`sluice restore`, or PostgreSQL's own tools), and " +
  "report it: " +
  "this is a fault of the disk or of Sluice."

/** The numbers, and the contradictions between them; else the conclusion. */
export function prove({ posts, logs, links: tallies, attempts }: ProofFacts): {
  readonly proof: Proof
  readonly findings: readonly Finding[]
} {
  const logOf = new Map(logs.map((log) => [log.appId, log]))
  const links = tallies.map((tally) => {
    const { head, trimmedTo } = logOf.get(tally.appId) ?? emptyLog
    const evidence = attempts.get(tally.linkId) ?? noAttempts
    const found = { head, trimmedTo, evidence }
    return { faults: linkFaults(tally, found), proof: linkProof(tally, found) }
  })
  const faults = [...postFaults(posts), ...logs.flatMap(logFaults), ...links.flatMap((link) => link.faults)].map(
    (text) => fault("proof", text, beyondRepair),
  )
  const proof = {
    holds: faults.length === 0,
    posts,
    matches: {
      appended: sumOf(logs, (log) => log.head),
      trimmed: sumOf(logs, (log) => log.trimmedTo),
      kept: sumOf(logs, (log) => log.entries),
    },
    links: links.map((link) => link.proof),
  }
  return { proof, findings: proof.holds ? proofText(proof).map((text) => good("proof", text)) : faults }
}

/** Facts about a link in addition to its tally. */
interface LinkFacts {
  readonly head: MatchSeq
  readonly trimmedTo: MatchSeq
  readonly evidence: AttemptEvidence
}

const emptyLog = { head: beforeFirstMatch, trimmedTo: beforeFirstMatch }

const noAttempts: AttemptEvidence = { last: beforeFirstMatch, confirmed: 0 }

function postFaults({ accepted, trimmed, stored }: StoreAudit["posts"]): readonly string[] {
  const missing = accepted - trimmed - stored
  if (missing === 0) return []
  const sum = `${accepted} were accepted, retention took ${trimmed}, and ${stored} are stored.`
  return [
    missing > 0
      ? `${counted(missing, "acknowledged post")} ${missing === 1 ? "is" : "are"} missing: ${sum}`
      : `${counted(-missing, "post")} more ${missing === -1 ? "is" : "are"} stored than there can be: ${sum}`,
  ]
}

function logFaults({ appId, head, trimmedTo, entries }: StoreAudit["logs"][number]): readonly string[] {
  const missing = head - trimmedTo - entries
  if (missing === 0) return []
  return [
    `The match log of app ${appId} has ${counted(entries, "entry", "entries")} from ${trimmedTo + 1} to ${head}: ` +
      (missing > 0 ? `${missing} missing.` : `${-missing} too many.`),
  ]
}

function linkFaults(tally: LinkTally, found: LinkFacts): readonly string[] {
  const { firstPosition, position, delivered, retries, deadLetters, expired, missed, withdrawn } = tally
  const { head, trimmedTo, evidence } = found
  const link = `The link to webhook ${tally.webhookId}`
  const passed = position - firstPosition
  const accounted = delivered + retries + deadLetters + expired + missed + withdrawn
  const faults: string[] = []
  if (passed !== accounted) {
    faults.push(
      `${link} has passed ${counted(passed, "match", "matches")} and accounts for ${accounted}: ` +
        `${delivered} delivered, ${retries} retried, ${counted(deadLetters, "dead letter")}, ` +
        `${expired} expired, ${missed} missed, ${withdrawn} withdrawn.`,
    )
  }
  if (position > head) {
    faults.push(
      `${link} stands at ${position}, beyond the newest match ${head}: ` +
        "those that come up to there would not be sent.",
    )
  }
  if (position < trimmedTo) {
    faults.push(`${link} stands at ${position}, retention took what is up to ${trimmedTo}, and no gap marker says so.`)
  }
  if (evidence.last > head) {
    faults.push(`${link} has an attempt at match ${evidence.last}, and the newest match is ${head}.`)
  }
  if (evidence.confirmed > delivered + expired + missed + withdrawn) {
    faults.push(
      `${link} counts ${counted(delivered, "match", "matches")} as delivered, ` +
        `and its attempts show ${evidence.confirmed} of them.`,
    )
  }
  return faults
}

/**
 * How many matches the attempts show as delivered that are at no other place that is known by its position. `delivered`
 * are the different positions with a successful attempt, `unsettled` those of them that are retries or dead letters.
 */
export function confirmedIn(
  { firstPosition, position }: Pick<LinkTally, "firstPosition" | "position">,
  delivered: ReadonlySet<MatchSeq>,
  unsettled: ReadonlySet<MatchSeq>,
): number {
  return sumOf([...delivered], (seq) => (seq > firstPosition && seq <= position && !unsettled.has(seq) ? 1 : 0))
}

function linkProof(tally: LinkTally, { head, evidence }: LinkFacts): LinkProof {
  return {
    application_id: tally.appId,
    webhook_id: tally.webhookId,
    owed: head - tally.firstPosition,
    delivered: tally.delivered,
    retrying: tally.retries,
    dead_letters: tally.deadLetters,
    expired: tally.expired,
    missed: tally.missed,
    withdrawn: tally.withdrawn,
    waiting: head - tally.position,
    confirmed: evidence.confirmed,
  }
}

/** The proof in sentences. */
function proofText({ posts, matches, links }: Omit<Proof, "holds">): readonly string[] {
  const sum = (count: (link: LinkProof) => number): number => sumOf(links, count)
  const { accepted, trimmed, stored } = posts
  return [
    `${counted(accepted, "post")} acknowledged = ${stored} stored + ${trimmed} taken by retention.`,
    `${counted(matches.appended, "match", "matches")} logged = ${matches.kept} kept + ${matches.trimmed} taken by retention.`,
    `${counted(links.length, "link")}: ${sum((link) => link.owed)} to deliver = ` +
      `${sum((link) => link.delivered)} delivered + ${sum((link) => link.waiting)} waiting + ` +
      `${sum((link) => link.retrying)} retried + ${sum((link) => link.dead_letters)} dead letters + ` +
      `${sum((link) => link.expired)} expired + ${sum((link) => link.missed)} missed + ` +
      `${sum((link) => link.withdrawn)} withdrawn. ` +
      `The kept attempts show ${sum((link) => link.confirmed)} of the delivered ones.`,
  ]
}

function sumOf<Item>(items: readonly Item[], count: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + count(item), 0)
}
