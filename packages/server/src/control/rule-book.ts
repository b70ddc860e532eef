/**
 * Each app's ruleset: adding, deleting, counting and trying rules.
 *
 * A batch is judged rule by rule. Good rules of a mixed batch are kept, each of the others has an entry in
 * `errors`, in the order of the request. Source: captures of X's answers.
 */
import type {
  ChangeRulesBody,
  Envelope,
  ErrorObject,
  Rule,
  RuleCountsBody,
  RulesChangedBody,
} from "@sluice/api"
import { ruleTagCharactersMax, snowflakeAtMs } from "@sluice/api"
import {
  checkRule,
  EarlierPosts,
  explain,
  parseRule,
  readPost,
  type Mode,
  type PostFacts,
  type Rule as ParsedRule,
  type RuleOptions,
  type RuleWarning,
  type Span,
} from "@sluice/rules"
import { setImmediate as nextTurn } from "node:timers/promises"
import type { Static } from "typebox"
import { embeddingsIn, Similarities } from "../matching/similarities.ts"
import type { App } from "../model/app.ts"
import { asId, type AppId, type RuleId } from "../model/ids.ts"
import {
  duplicateRule,
  invalidRequest,
  invalidRequests,
  invalidRule,
  noSuchRule,
  ruleNotServed,
  ruleOverCap,
  type Problem,
} from "../model/problem.ts"
import type { AddedRule, RuleSelector, StoredRule } from "../model/rule.ts"
import type { Clock } from "../runtime/clock.ts"
import { EmbeddingsUnavailable, type Embeddings } from "../runtime/embeddings.ts"
import type { Snowflakes } from "../runtime/snowflakes.ts"
import type { KeysetRange, Store } from "../store/store.ts"

/** What became of a change, and whether it made any rule. */
interface RulesChange {
  readonly created: boolean
  readonly body: Static<typeof RulesChangedBody>
}

/** Which posts a rule matched and why, and how many it was tried on. */
interface RuleTest {
  readonly tested: number
  readonly matches: readonly { readonly id: string; readonly spans: readonly Span[] }[]
  /** If posts come as the recent ones did. Absent for posts of the caller's, and when their times tell nothing. */
  readonly matchesPerDay?: number
  readonly warnings: readonly RuleWarning[]
}

/** The rulesets of all apps. */
export interface RuleBook {
  /** Throws 400 unless exactly one of `add`, `delete` and `deleteAll` is asked for. */
  change(
    appId: AppId,
    body: ChangeRulesBody | undefined,
    options: { readonly dryRun: boolean; readonly deleteAll: boolean },
  ): Promise<RulesChange>
  /** Newest first; only those of `ids` when given. */
  list(appId: AppId, range: KeysetRange<RuleId>, ids?: readonly RuleId[]): Promise<readonly Rule[]>
  counts(app: App): Promise<Static<typeof RuleCountsBody>>
  /**
   * Tries a rule on posts, or on so many of the newest ones. What any of them tells of places and links is known of
   * all. Throws 400 with what is wrong with the rule, and 503 when similarities cannot be had.
   */
  test(value: string, posts: readonly Envelope[] | number, mode?: Mode): Promise<RuleTest>
}

/**
 * The rulesets kept in a store. `ruleCharactersMax` counts code points; `strict` refuses what X refuses. Without
 * `embeddings` rules with `embedding:` are refused.
 */
export function createRuleBook(deps: {
  store: Store
  snowflakes: Snowflakes
  clock: Clock
  rulesPerAppMax: number
  ruleCharactersMax: number
  strict: boolean
  embeddings?: Embeddings | undefined
}): RuleBook {
  const { store, snowflakes, clock, rulesPerAppMax, ruleCharactersMax, strict, embeddings } = deps
  const optionsFor = (mode: Mode): RuleOptions => ({
    lengthMax: ruleCharactersMax,
    strict,
    mode,
    embeddings: embeddings !== undefined,
  })
  const parse = (value: string): ReturnType<typeof parseRule> => parseRule(value, optionsFor("stream"))

  /** A rule whose text has no vector could not be served, so it is not accepted. The vectors themselves are the index's to keep. */
  const refuseUnserved = async (judged: readonly Judged[]): Promise<readonly Judged[]> => {
    const texts = judged.flatMap((one) => (one.kind === "candidate" ? one.embeddingTexts : []))
    try {
      if (texts.length > 0) await embeddings?.of([...new Set(texts)])
      return judged
    } catch (error) {
      if (!(error instanceof EmbeddingsUnavailable)) throw error
      return judged.map((one) =>
        one.kind === "candidate" && one.embeddingTexts.length > 0
          ? { kind: "refused", problem: ruleNotServed(one.rule.value, error) }
          : one,
      )
    }
  }

  const read = async (
    rule: ParsedRule,
    envelopes: readonly Envelope[],
    mode: Mode,
  ): Promise<readonly PostFacts[]> => {
    const earlier = new EarlierPosts()
    for (const envelope of envelopes) earlier.learn(envelope)
    const texts = embeddingsIn(rule).map(({ value }) => value)
    if (embeddings === undefined || texts.length === 0) {
      return envelopes.map((envelope) => readPost(envelope, { mode, earlier }))
    }
    const similarities = new Similarities(embeddings)
    for (const text of texts) similarities.add(text)
    const compared = similarities.compare(await similarities.fetch(envelopes))
    return envelopes.map((envelope, at) =>
      readPost(envelope, { mode, earlier, similarity: (text) => compared[at]?.(text) }),
    )
  }

  const sent = (): string => new Date(clock.nowMs()).toISOString()

  const add = async (appId: AppId, asked: readonly AskedRule[], dryRun: boolean): Promise<RulesChange> => {
    const nextId = (): RuleId => asId<RuleId>(snowflakes.next())
    const judged = await refuseUnserved(judge(appId, asked, parse, nextId))
    const candidates = judged.flatMap((one) => (one.kind === "candidate" ? [one.rule] : []))
    const outcomes =
      candidates.length === 0
        ? []
        : await store.addRules(appId, candidates, { rulesMax: rulesPerAppMax, dryRun })
    const outcomeOf = new Map(candidates.map((rule, index) => [rule, outcomes[index]]))
    const data: Rule[] = []
    const errors: ErrorObject[] = []
    for (const one of judged) {
      const problem =
        one.kind === "refused" ? one.problem : refusal(one.rule, outcomeOf.get(one.rule), rulesPerAppMax)
      if (problem !== undefined) errors.push(problem.toErrorObject())
      else if (one.kind === "candidate") data.push(toRule(one.rule))
    }
    const summary = {
      created: data.length,
      not_created: errors.length,
      valid: data.length,
      invalid: errors.length,
    }
    return {
      created: data.length > 0,
      body: {
        ...(data.length === 0 ? {} : { data }),
        meta: { sent: sent(), summary },
        ...(errors.length === 0 ? {} : { errors }),
      },
    }
  }

  const remove = async (appId: AppId, selector: RuleSelector, dryRun: boolean): Promise<RulesChange> => {
    const deleted = await store.deleteRules(appId, selector, { dryRun })
    const errors = missingOf(selector, deleted).map((problem) => problem.toErrorObject())
    const summary = { deleted: deleted.length, not_deleted: errors.length }
    return {
      created: false,
      body: { meta: { sent: sent(), summary }, ...(errors.length === 0 ? {} : { errors }) },
    }
  }

  return {
    async change(appId, body, { dryRun, deleteAll }) {
      const asked = whatIsAsked(body, deleteAll)
      return asked.kind === "add" ? add(appId, asked.rules, dryRun) : remove(appId, asked.selector, dryRun)
    },
    async list(appId, range, ids) {
      return (await store.rules(appId, range, ids)).map(toRule)
    },
    async counts(app) {
      const count = await store.ruleCount(app.id)
      const counted = { client_app_id: app.id, rule_count: count }
      return {
        data: {
          all_project_client_apps: [counted],
          cap_per_client_app: String(rulesPerAppMax),
          cap_per_project: String(rulesPerAppMax),
          client_app_rules_count: counted,
          project_rules_count: String(count),
        },
      }
    },
    async test(value, posts, mode = "stream") {
      const options = optionsFor(mode)
      const parsed = parseRule(value, options)
      if (!parsed.ok) throw invalidRule(value, messagesOf(parsed.problems))
      const isRecent = typeof posts === "number"
      const envelopes = isRecent ? await recentEnvelopes(store, posts) : posts
      const facts = await read(parsed.rule, envelopes, mode).catch((error: unknown) => {
        throw error instanceof EmbeddingsUnavailable ? ruleNotServed(value, error) : error
      })
      const checked = checkRule(value, facts, options)
      const matches: RuleTest["matches"][number][] = []
      for (const [index, post] of facts.entries()) {
        // A long rule over long posts takes its time, and others are served meanwhile.
        if (index % postsAtOnce === 0) await nextTurn()
        matches.push(...matchOf(parsed.rule, post))
      }
      const matchesPerDay = isRecent ? perDay(matches.length, envelopes) : undefined
      return {
        tested: facts.length,
        matches,
        ...(matchesPerDay !== undefined && { matchesPerDay }),
        warnings: checked.ok ? checked.warnings : [],
      }
    },
  }
}

/** Posts that a rule is tried on before others have their turn. Ours. */
const postsAtOnce = 50

interface AskedRule {
  readonly value: string
  readonly tag?: string
}

type Asked =
  | { readonly kind: "add"; readonly rules: readonly AskedRule[] }
  | { readonly kind: "delete"; readonly selector: RuleSelector }

/** Exactly one of `add`, `delete` and `deleteAll`. The messages are X's, the details ours. */
function whatIsAsked(body: ChangeRulesBody | undefined, deleteAll: boolean): Asked {
  const toAdd = body?.add
  const toDelete = body?.delete
  if (deleteAll) {
    if (toAdd !== undefined || toDelete !== undefined) {
      throw invalidRequest("delete_all deletes every rule by itself: send it without a body", {
        delete_all: ["true"],
      })
    }
    return { kind: "delete", selector: { kind: "all" } }
  }
  if (toAdd !== undefined && toDelete !== undefined) {
    throw wrongSchema("Send either `add` or `delete`, not both.", ["add", "delete"])
  }
  if (toAdd !== undefined) return { kind: "add", rules: toAdd }
  if (toDelete === undefined) {
    throw wrongSchema("Send `add` or `delete`, or the parameter delete_all=true.", ["add", "delete"])
  }
  return { kind: "delete", selector: selectorOf(toDelete) }
}

/** X's message, and what would be right. */
function wrongSchema(detail: string, members: readonly string[]): Problem {
  const parameters = Object.fromEntries(members.map((member) => [member, []]))
  return invalidRequests([{ message: "JSON doesn't match expected schema", parameters, detail }])
}

/** Either `ids` or `values`: together they would be two changes, of which one might fail. */
function selectorOf({ ids = [], values = [] }: NonNullable<ChangeRulesBody["delete"]>): RuleSelector {
  if (ids.length > 0 === values.length > 0) {
    throw wrongSchema("`delete` holds either `ids` or `values`, with at least one of them.", ["delete"])
  }
  return ids.length > 0
    ? { kind: "ids", ids: [...new Set(ids.map((id) => asId<RuleId>(id)))] }
    : { kind: "values", values: [...new Set(values)] }
}

type Judged =
  | {
      readonly kind: "candidate"
      readonly rule: StoredRule
      /** What its `embedding:` operators compare posts with. */
      readonly embeddingTexts: readonly string[]
    }
  | { readonly kind: "refused"; readonly problem: Problem }

/** What can be said of each rule without the store: it parses, its tag is short, it stands once in the request. */
function judge(
  appId: AppId,
  asked: readonly AskedRule[],
  parse: (value: string) => ReturnType<typeof parseRule>,
  nextId: () => RuleId,
): readonly Judged[] {
  const seen = new Set<string>()
  return asked.map(({ value, tag = "" }): Judged => {
    const parsed = parse(value)
    const details = parsed.ok ? [] : messagesOf(parsed.problems)
    const tagCharacters = Array.from(tag).length
    if (tagCharacters > ruleTagCharactersMax) {
      details.push(
        `The tag is ${tagCharacters} characters while the maximum allowed is ${ruleTagCharactersMax}`,
      )
    }
    if (details.length > 0) return { kind: "refused", problem: invalidRule(value, details) }
    if (seen.has(value)) return { kind: "refused", problem: duplicateRule(value) }
    seen.add(value)
    return {
      kind: "candidate",
      rule: { id: nextId(), appId, value, ...(tag === "" ? {} : { tag }) },
      embeddingTexts: parsed.ok ? embeddingsIn(parsed.rule).map((operator) => operator.value) : [],
    }
  })
}

function messagesOf(problems: readonly { readonly message: string }[]): string[] {
  return problems.map((problem) => problem.message)
}

function refusal(rule: StoredRule, outcome: AddedRule | undefined, rulesMax: number): Problem | undefined {
  switch (outcome?.kind) {
    case "created":
      return undefined
    case "duplicate":
      return duplicateRule(rule.value, outcome.id)
    case "over-cap":
    case undefined:
      return ruleOverCap(rule.value, rulesMax)
  }
}

/** A problem for each thing that was to be deleted and was not there. */
function missingOf(selector: RuleSelector, deleted: readonly StoredRule[]): readonly Problem[] {
  switch (selector.kind) {
    case "all":
      return []
    case "ids": {
      const gone = new Set(deleted.map((rule) => rule.id))
      return selector.ids.filter((id) => !gone.has(id)).map((id) => noSuchRule({ id }))
    }
    case "values": {
      const gone = new Set(deleted.map((rule) => rule.value))
      return selector.values.filter((value) => !gone.has(value)).map((value) => noSuchRule({ value }))
    }
  }
}

function toRule({ id, value, tag }: StoredRule): Rule {
  return tag === undefined ? { id, value } : { id, value, tag }
}

async function recentEnvelopes(store: Store, count: number): Promise<readonly Envelope[]> {
  return (await store.recentPosts(count)).map((post) => JSON.parse(post.json) as Envelope)
}

function matchOf(rule: ParsedRule, post: PostFacts): readonly { id: string; spans: readonly Span[] }[] {
  const { matches, spans } = explain(rule, post)
  return matches ? [{ id: post.id, spans }] : []
}

const dayMs = 86_400_000

/** As many as there were between the oldest and the newest of the posts, in three digits: it is an estimate. */
function perDay(matched: number, envelopes: readonly Envelope[]): number | undefined {
  const times = envelopes.flatMap(({ data }) => createdAtMs(data) ?? [])
  const spanMs = Math.max(...times) - Math.min(...times)
  return spanMs > 0 ? Number(((matched * dayMs) / spanMs).toPrecision(3)) : undefined
}

function createdAtMs({ id, created_at: createdAt }: Envelope["data"]): number | undefined {
  return createdAt === undefined ? snowflakeAtMs(id) : Date.parse(createdAt)
}
