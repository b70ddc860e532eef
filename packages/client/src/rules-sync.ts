/**
 * Makes a ruleset the same as a list of rules.
 *
 *     all pages of the rules ─► compare by value and tag ─► dry run of what is added ─► delete ─► replace ─► add
 *                                                           └ a wrong rule ends it here, with nothing changed
 *
 * A server has each value once, so a rule whose tag changes is deleted and added again, batch by batch: it matches
 * nothing in between, for as long as two requests take. Unwanted rules are deleted first, since the new rules may need
 * their room.
 */
import type { Rule } from "@sluice/api"
import { ApiError, refusal, type ApiErrorEntry } from "./errors.ts"

/** A desired rule. */
export interface DesiredRule {
  readonly value: string
  /** Absent or empty: the rule must have none. */
  readonly tag?: string | undefined
}

/** Options of a sync. */
export interface RuleSyncOptions {
  /** Finds the difference and validates the new rules on the server, but changes nothing. */
  readonly dryRun?: boolean
  /**
   * Only rules with this tag are compared and changed, so that programs that share an app keep off each other's rules. Desired
   * rules get the tag. Empty: only rules without a tag.
   */
  readonly tag?: string | undefined
  /** Ends the sync between two requests, with a `RuleSyncError` when something was changed before, else with its reason. */
  readonly signal?: AbortSignal | undefined
}

/** The difference between the present and the desired rules. */
export interface RuleDifference {
  /** In the order of the list; of a dry run without ids. */
  readonly added: readonly (DesiredRule & { readonly id?: string })[]
  readonly deleted: readonly Rule[]
  /** Rules that were right already. */
  readonly unchanged: number
}

/** A change that ended half way. To do it again does the rest. */
export class RuleSyncError extends ApiError {
  override readonly name = "RuleSyncError"
  /** The changes made before; a rule whose tag was to change may be among `deleted` alone. */
  readonly done: RuleDifference

  constructor(error: ApiError, done: RuleDifference) {
    const { kind, status, type, title, detail, errors, details, body, retryAfterMs, isUnreachable } = error
    const fields = {
      kind,
      status,
      type,
      title,
      detail,
      errors,
      details,
      body,
      retryAfterMs,
      isUnreachable,
      cause: error,
    }
    super(fields, error.message)
    this.done = done
  }
}

/** The requests of a sync. */
export interface RuleRequests {
  /** All rules of the app. */
  readonly list: () => Promise<readonly Rule[]>
  readonly add: (
    rules: readonly DesiredRule[],
    dryRun: boolean,
  ) => Promise<{ readonly data?: readonly Rule[]; readonly errors?: readonly ApiErrorEntry[] }>
  readonly delete: (ids: readonly string[]) => Promise<{ readonly errors?: readonly ApiErrorEntry[] }>
}

/** Rules of one request. Ours: a tenth of what a server takes, so that a change of tags is soon over. */
const batchMax = 100

/**
 * Makes the app's rules these; with `tag` those that have it. Returns what it changed, or with `dryRun` would change. Throws
 * `TypeError` for a list with a value twice or with another tag, and `RuleSyncError` when something is refused or fails.
 */
export async function syncRules(
  requests: RuleRequests,
  listed: readonly DesiredRule[],
  { dryRun = false, tag: scope, signal }: RuleSyncOptions = {},
): Promise<RuleDifference> {
  const desired = scope === undefined ? listed : withTag(listed, scope)
  const wanted = byValue(desired)
  const all = await requests.list()
  const found = scope === undefined ? all : all.filter((rule) => tagOf(rule) === scope)
  const others = all.filter((rule) => scope !== undefined && tagOf(rule) !== scope && wanted.has(rule.value))
  if (others.length > 0) throw new RuleSyncError(ofOthers(others), { added: [], deleted: [], unchanged: 0 })
  const stored = new Map(found.map((rule) => [rule.value, rule]))
  const toAdd = desired.filter((rule) => !isSame(rule, stored.get(rule.value)))
  const toDelete = found.filter((rule) => !isSame(rule, wanted.get(rule.value)))
  const unchanged = desired.length - toAdd.length
  const added: (DesiredRule & { readonly id?: string })[] = []
  const deleted: Rule[] = []

  const remove = async (rules: readonly Rule[]): Promise<void> => {
    signal?.throwIfAborted()
    // A rule that is already deleted needs no change.
    await requests.delete(rules.map(({ id }) => id))
    deleted.push(...rules)
  }
  const add = async (rules: readonly DesiredRule[]): Promise<void> => {
    signal?.throwIfAborted()
    const { data = [], errors = [] } = await requests.add(rules, false)
    added.push(...data)
    if (errors.length > 0) throw notAdded(errors)
  }

  const replaced = toAdd.filter(({ value }) => stored.has(value))
  const fresh = toAdd.filter(({ value }) => !stored.has(value))
  for (const batch of batches([...fresh, ...replaced])) {
    signal?.throwIfAborted()
    const { errors = [] } = await requests.add(batch, true)
    // Rules refused only as duplicates or because the room is used up are tried: deletions come before them.
    const wrong = errors.filter(({ type }) => !/\/(?:duplicate-rules|rule-cap)$/.test(type ?? ""))
    if (wrong.length > 0) throw new RuleSyncError(notAdded(wrong), { added, deleted, unchanged })
  }
  if (dryRun) return { added: toAdd, deleted: toDelete, unchanged }
  try {
    for (const batch of batches(toDelete.filter(({ value }) => !wanted.has(value)))) await remove(batch)
    for (const batch of batches(replaced)) {
      await remove(batch.flatMap(({ value }) => stored.get(value) ?? []))
      await add(batch)
    }
    for (const batch of batches(fresh)) await add(batch)
  } catch (error) {
    const isUntouched = added.length + deleted.length === 0
    if (isUntouched && !(error instanceof ApiError)) throw error
    throw new RuleSyncError(asApiError(error), { added, deleted, unchanged })
  }
  return { added, deleted, unchanged }
}

/** A server stores no tag for an empty one. */
function tagOf({ tag = "" }: DesiredRule): string {
  return tag
}

/** Whether another list has the rule, of the same value, with the same tag. */
function isSame(rule: DesiredRule, other: DesiredRule | undefined): boolean {
  return other !== undefined && tagOf(rule) === tagOf(other)
}

function byValue(desired: readonly DesiredRule[]): ReadonlyMap<string, DesiredRule> {
  const wanted = new Map(desired.map((rule) => [rule.value, rule]))
  if (wanted.size === desired.length) return wanted
  const twice = desired.find((rule) => wanted.get(rule.value) !== rule)
  throw new TypeError(`The rule ${JSON.stringify(twice?.value)} is in the list twice.`)
}

function withTag(listed: readonly DesiredRule[], tag: string): readonly DesiredRule[] {
  const other = listed.find((rule) => !["", tag].includes(tagOf(rule)))
  if (other === undefined) return listed.map(({ value }) => ({ value, tag }))
  const rule = `The rule ${JSON.stringify(other.value)} has the tag ${JSON.stringify(other.tag)}`
  throw new TypeError(`${rule}, and only rules with the tag ${JSON.stringify(tag)} are synchronised.`)
}

/** A server has each value once: rules with another tag are not this sync's to change. */
function ofOthers(rules: readonly Rule[]): ApiError {
  const errors = rules.map(({ id, value, tag = "" }) => ({
    title: "DuplicateRule",
    value,
    id,
    detail: `The app has the rule ${value} with ${tag === "" ? "no tag" : `the tag ${tag}`}.`,
  }))
  const detail = "Rules of the list exist with another tag, and only those with the given tag are changed."
  return refusal(undefined, { title: "Rules of another tag", detail, errors })
}

function* batches<Item>(items: readonly Item[]): Generator<readonly Item[], void, void> {
  for (let at = 0; at < items.length; at += batchMax) yield items.slice(at, at + batchMax)
}

/** The rules that the server refused in a request that it accepted. */
function notAdded(errors: readonly ApiErrorEntry[]): ApiError {
  const title = errors.length === 1 ? "A rule was refused" : `${String(errors.length)} rules were refused`
  return refusal(undefined, {
    type: errors[0]?.type,
    title,
    detail: "The server refuses a part of the list.",
    errors,
  })
}

/** The cause of the end: an error of a request, or the reason of the signal. */
function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const detail = error instanceof Error ? error.message : String(error)
  return new ApiError({ kind: "connection", title: "Interrupted", detail, cause: error })
}
