/**
 * Ingest of the records of a source: read, convert, match, append.
 *
 *     lines ─► begin ─► names and users, looked up for many lines at once ─► finish ─► match ─► batch ─► append
 *
 * It works as `accept-posts.ts` does for posts, with three differences: a record is converted before it is a post, the
 * position behind the records becomes durable with their posts, and a record that is no post becomes a dead letter in the
 * same transaction.
 */
import type { Envelope } from "@sluice/api"
import type { Conversion, Converted, ConvertedPost, Converter, KnownNames, KnownUser } from "../conversion/converter.ts"
import { aheadMsMax } from "../conversion/foreign-envelope.ts"
import type { RuleIndex } from "../matching/rule-index.ts"
import { instant, minuteMs } from "../model/date-time.ts"
import type { PostId, UserId } from "../model/ids.ts"
import type { AssignedName } from "../model/source.ts"
import { foldedUsername, userBytesMax } from "../model/user.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Snowflakes } from "../runtime/snowflakes.ts"
import type { Turn } from "../runtime/turns.ts"
import { timeOrderedUuid } from "../runtime/uuid.ts"
import type { DeletionWrites } from "../store/port/deletion-store.ts"
import type { MatchLogWrites } from "../store/port/match-log.ts"
import type { PostStore } from "../store/port/post-store.ts"
import { sourceDeadLetterRecordBytesMax } from "../store/bounds.ts"
import type { SourceReads, SourceWrites } from "../store/port/source-store.ts"
import type { UserReads } from "../store/port/user-store.ts"
import { LineReader, textOfLine, type Line } from "./lines.ts"
import { PostBatches, type BatchDeps, type BatchListener } from "./post-batches.ts"
import { parsedPost, PostMatching, walkedPost } from "./post-matching.ts"
import { sourceAppender } from "./source-append.ts"
import { UnstoredNames } from "./unstored-names.ts"

/** Records that are converted together, so that one look into the store serves them all. Ours. */
const convertedMax = 128

/** Longest name of a post, in bytes. Ours: an index of PostgreSQL holds 2,704. */
const nameBytesMax = 2_000

/** Longest position of a source, in characters. Ours. */
const positionCharactersMax = 2_000

/** Most bytes of the posts that records show, for those that are converted together. Beyond it they show the others by id. Ours. */
const originalBytesMax = 4 * 1024 * 1024

/** How long a notice of a user counts before what the store says. Ours: longer than a batch takes to be stored. */
const noticedMs = 10_000

/** The source of a body of records, as this process drives it. */
export interface DrivenSource {
  readonly name: string
  readonly driver: number
  /** The position at which the reading began; absent before the first. */
  readonly position?: string
  /** True when the records are repeated ones: then the position stays where it is. */
  readonly keepsPosition?: boolean
}

/** Dependencies of an acceptor of records. */
export interface RecordAcceptorDeps extends Pick<BatchDeps, "ruleMatchCounts"> {
  readonly store: MatchLogWrites &
    Pick<DeletionWrites, "delete"> &
    Pick<PostStore, "postsById"> &
    Pick<UserReads, "usersById"> &
    Pick<SourceReads, "assignedNames"> &
    Pick<SourceWrites, "appendFrom">
  readonly rules: Pick<RuleIndex, "catchUp" | "match" | "matchNow" | "walked">
  readonly clock: Clock
  readonly snowflakes: Snowflakes
  /** Most bytes of a record. */
  readonly postBytesMax: number
  readonly turn: Pick<Turn, "next" | "spend">
  readonly source: DrivenSource
  readonly converter: Promise<Converter>
}

/** A record that is begun, or why it cannot be. */
type Begun = { readonly line: Line } & ({ readonly conversion: Conversion } | { readonly rejected: Rejected })

/** A line, with the record as the source had it where the line is another form of it. */
type RecordLine = Line & { readonly record?: string }

type Rejected = Extract<Converted, { readonly kind: "rejected" }>

type PostDeletion = Extract<Converted, { readonly kind: "post deleted" }>

/** The names that some records mention, to which ids may be assigned. */
interface MentionedNames extends KnownNames {
  /** Assigns an id to a name that has none. */
  assign(assigned: AssignedName): void
}

/** The names of a record that is taken. */
interface NamesOfRecord {
  readonly known: MentionedNames
  readonly converter: Pick<Converter, "idOf">
}

/** Accepts the records of one source, chunk by chunk. One call at a time. */
export class RecordAcceptor {
  readonly #deps: RecordAcceptorDeps
  readonly #batches: PostBatches
  readonly #matching: PostMatching
  readonly #lines: LineReader
  /** Users of whom a notice came just now: a look into the store may not find it yet. */
  readonly #noticed = new Map<UserId, { readonly user: KnownUser; readonly atMs: number }>()
  readonly #unstored = new UnstoredNames()
  #isAbandoned = false

  constructor(deps: RecordAcceptorDeps, listener: BatchListener) {
    this.#deps = deps
    this.#lines = new LineReader(deps.postBytesMax)
    const sourceAppend = sourceAppender({ ...deps, names: this.#unstored })
    this.#batches = new PostBatches({ ...deps, sourceAppend }, listener, () => this.#matching.hasUnmatched)
    this.#matching = new PostMatching({ ...deps, batches: this.#batches })
  }

  /** Bytes of memory that a line without its end takes. */
  get partialLineBytes(): number {
    return this.#lines.partialLineBytes
  }

  /** Stops reading after the current records, and discards a partial line. */
  abandon(): void {
    this.#isAbandoned = true
    this.#lines.forget()
  }

  /** Reads a chunk, and appends each batch that becomes full. Rejects when a post cannot be matched or appended. */
  async write(chunk: Uint8Array): Promise<void> {
    await this.#readLines(this.#lines.read(chunk))
  }

  /** Has what was read appended, as that of `PostAcceptor`. */
  async flush(): Promise<boolean> {
    await this.#matching.matchRead()
    return this.#batches.flush()
  }

  /** Waits until everything that is to be appended is, or an append has failed. */
  async settled(): Promise<void> {
    await this.#batches.free().catch(() => undefined)
  }

  /** Appends what was read, and waits until all of it is durable. */
  async stop(): Promise<void> {
    await this.#flushWhenFree()
    await this.#batches.free()
  }

  /** Reads the last line, and waits until the whole body is durable. */
  async end(): Promise<void> {
    await this.#readLines(this.#lines.end())
    await this.stop()
  }

  async #readLines(lines: Iterable<Line>): Promise<void> {
    let part: Line[] = []
    for (const line of lines) {
      part.push(line)
      if (part.length < convertedMax) continue
      await this.#readPart(part)
      part = []
      if (this.#isAbandoned) return
    }
    if (part.length > 0) await this.#readPart(part)
  }

  async #readPart(lines: readonly Line[]): Promise<void> {
    const { rules, turn } = this.#deps
    this.#forgetNotices()
    this.#unstored.forgetStored()
    const converter = await this.#deps.converter
    const begun = lines.flatMap((line) => beginLine(line, converter))
    const known = await this.#lookUp(begun.flatMap((one) => ("conversion" in one ? [one.conversion] : [])))
    await rules.catchUp()
    for (const one of begun) {
      this.#take(one, known, converter)
      if (this.#matching.isDue) {
        await this.#matching.matchRead()
        this.#batches.flushDue()
      }
      if (this.#batches.isFull(this.#matching.unmatched)) {
        await this.#flushWhenFree()
        await turn.next()
      } else {
        const pause = turn.spend(one.line.byteCount)
        if (pause !== undefined) await pause
      }
    }
  }

  /** Looks up the names and the users that records mention. */
  async #lookUp(conversions: readonly Conversion[]): Promise<MentionedNames> {
    const { store } = this.#deps
    const names = [...new Set(conversions.flatMap(({ posts }) => posts))].filter(isStorable)
    const ids = [...new Set(conversions.flatMap(({ users }) => users))]
    const [assigned, users] = await Promise.all([
      names.length === 0 ? [] : store.assignedNames(names),
      ids.length === 0 ? [] : store.usersById(ids),
    ])
    const postIds = new Map(assigned.map(({ name, id }) => [name, id]))
    for (const name of names) {
      const id = postIds.get(name) ?? this.#unstored.idOf(name)
      if (id !== undefined) postIds.set(name, id)
    }
    const envelopes = await this.#originals(conversions, postIds)
    const objects = new Map<UserId, KnownUser>()
    for (const { id, json } of users) {
      const user = json === undefined ? undefined : parsedUser(json)
      if (user !== undefined) objects.set(id, user)
    }
    return {
      postId: (name) => postIds.get(name),
      user: (id) => this.#noticed.get(id)?.user ?? objects.get(id),
      envelope: (name) => envelopes.get(name),
      assign: (one) => {
        postIds.set(one.name, one.id)
        this.#unstored.assign(one)
      },
    }
  }

  /** The envelopes of stored posts that records show, by name. */
  async #originals(
    conversions: readonly Conversion[],
    postIds: ReadonlyMap<string, PostId>,
  ): Promise<ReadonlyMap<string, Envelope>> {
    const nameOf = new Map<PostId, string>()
    const converter = await this.#deps.converter
    for (const name of conversions.flatMap(({ originals = [] }) => originals)) {
      const id = postIds.get(name) ?? converter.idOf(name)
      if (id !== undefined) nameOf.set(id, name)
    }
    const envelopes = new Map<string, Envelope>()
    if (nameOf.size === 0) return envelopes
    const range = { ids: [...nameOf.keys()], shape: "envelope", bytesMax: originalBytesMax } as const
    for (const { id, json } of (await this.#deps.store.postsById(range)).posts) {
      envelopes.set(nameOf.get(id) ?? "", JSON.parse(json) as Envelope)
    }
    return envelopes
  }

  #take(begun: Begun, known: MentionedNames, converter: Converter): void {
    const { line } = begun
    this.#batches.countLine(line.byteCount)
    if ("rejected" in begun) {
      this.#reject(line, begun.rejected)
      return
    }
    const { conversion } = begun
    const converted = isStorablePosition(conversion.position) ? conversion.finish(known) : invalidPosition
    const kept = conversion.record === undefined ? line : { ...line, record: conversion.record }
    this.#takeConverted(kept, converted, { known, converter })
    if (converted === invalidPosition || this.#deps.source.keepsPosition === true) return
    const { position, atMs } = conversion
    const { position: begunAt } = this.#deps.source
    const stays = position !== undefined && begunAt !== undefined && converter.isReadAgain?.(position, begunAt) === true
    this.#batches.moveTo(stays ? undefined : position, atMs)
  }

  #takeConverted(line: RecordLine, converted: Converted, names: NamesOfRecord): void {
    switch (converted.kind) {
      case "post":
        this.#takePost(line, converted, names)
        break
      case "post deleted":
        this.#takeDeletion(converted, names)
        break
      case "user deleted":
        this.#batches.delete({ kind: "user", id: converted.id })
        break
      case "user":
        this.#takeUser(converted.user)
        break
      case "ignored":
        this.#batches.ignore()
        break
      case "rejected":
        this.#reject(line, converted)
        break
    }
  }

  /** A name that nothing knows gets an id, by which its deletion is remembered: the post may come afterwards. */
  #takeDeletion({ name, id }: PostDeletion, { known }: NamesOfRecord): void {
    const ownId = known.postId(name) ?? id
    if (ownId !== undefined) this.#batches.delete({ kind: "post", id: ownId })
    else if (isStorable(name)) this.#batches.delete({ kind: "post", id: this.#assignAhead(name, known) })
    else this.#batches.ignore()
  }

  /** Assigns an id to a name before its post comes. */
  #assignAhead(name: string, known: MentionedNames): PostId {
    const id = this.#deps.snowflakes.next() as PostId
    known.assign({ name, id })
    this.#batches.assign({ name, id })
    return id
  }

  #takePost(line: RecordLine, converted: ConvertedPost, { known, converter }: NamesOfRecord): void {
    const { rules, clock, snowflakes } = this.#deps
    const { name, firstName, isOld, claimedMs } = converted
    if (name !== undefined && !isStorable(name)) {
      this.#reject(line, invalidName)
      return
    }
    if (claimedMs !== undefined && claimedMs > clock.nowMs() + aheadMsMax) {
      this.#reject(line, claimedAhead(claimedMs))
      return
    }
    const ownId = (name === undefined ? undefined : known.postId(name)) ?? converted.id
    // The first version gets its id before the later one: ids of versions ascend with time.
    const isFirstUnknown =
      firstName !== undefined && (known.postId(firstName) ?? converter.idOf(firstName)) === undefined
    if (ownId === undefined && isFirstUnknown) this.#assignAhead(firstName, known)
    const id = ownId ?? (snowflakes.next() as PostId)
    const text = converted.envelopeWith(id)
    const read = walkedPost(rules, Buffer.from(text))
    const post = read === undefined ? parsedPost(text, clock.nowMs()) : { ok: true as const, ...read }
    if (!post.ok) {
      this.#reject(line, { kind: "rejected", ...post })
      return
    }
    if (ownId === undefined && name !== undefined) known.assign({ name, id })
    const isAssigned = id !== converted.id
    this.#matching.take(post, { name, isAssigned, isOld, envelopeWith: (other) => converted.envelopeWith(other) })
  }

  #takeUser(user: KnownUser & { readonly id: UserId }): void {
    const envelope = Buffer.from(JSON.stringify(user))
    const username = foldedUsername(user.username)
    if (username === undefined || envelope.length > userBytesMax) {
      this.#batches.ignore()
      return
    }
    const users = [{ id: user.id, username, begin: 0, end: envelope.length }] as const
    this.#batches.noteUser({ users, createdAtMs: this.#deps.clock.nowMs(), envelope })
    this.#noticed.delete(user.id)
    this.#noticed.set(user.id, { user, atMs: this.#deps.clock.monotonicMs() })
  }

  /** Forgets the notices that are stored by now. */
  #forgetNotices(): void {
    const beforeMs = this.#deps.clock.monotonicMs() - noticedMs
    for (const [id, { atMs }] of this.#noticed) {
      if (atMs >= beforeMs) break
      this.#noticed.delete(id)
    }
  }

  #reject(line: RecordLine, { title, detail, record = line.record }: Rejected): void {
    const { clock, source } = this.#deps
    const atMs = clock.nowMs()
    this.#batches.reject(line.number, title, detail)
    this.#batches.deadLetter({
      id: timeOrderedUuid(atMs),
      source: source.name,
      atMs,
      title,
      detail,
      record: keptOf(record === undefined ? line : { bytes: Buffer.from(record) }),
    })
  }

  async #flushWhenFree(): Promise<void> {
    await this.#matching.matchRead()
    await this.#batches.flushWhenFree()
  }
}

function keptOf(line: Line | { readonly bytes: Buffer }): Uint8Array {
  return "bytes" in line ? Uint8Array.from(line.bytes.subarray(0, sourceDeadLetterRecordBytesMax)) : new Uint8Array()
}

const invalidPosition: Rejected = {
  kind: "rejected",
  title: "Invalid Position",
  detail: `The position must have at most ${positionCharactersMax} characters, and no NUL.`,
}

function claimedAhead(claimedMs: number): Rejected {
  const detail = `The record names the time ${instant(claimedMs)}, which is more than ${aheadMsMax / minuteMs} minutes ahead.`
  return { kind: "rejected", title: "Time in the Future", detail }
}

const invalidName: Rejected = {
  kind: "rejected",
  title: "Invalid Name",
  detail: `The name of the post must have at most ${nameBytesMax} bytes, and no NUL.`,
}

/** Blank lines are none. */
function beginLine(line: Line, converter: Converter): readonly Begun[] {
  if ("fault" in line) return [{ line, rejected: { kind: "rejected", ...line.fault } }]
  const text = textOfLine(line.bytes)
  if (text === "") return []
  if (typeof text !== "string") return [{ line, rejected: { kind: "rejected", ...text.fault } }]
  return [{ line, conversion: converter.begin(text) }]
}

function isStorable(name: string): boolean {
  return Buffer.byteLength(name) <= nameBytesMax && isText(name)
}

function isText(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed()
}

function isStorablePosition(position: string | undefined): boolean {
  return position === undefined || (position.length <= positionCharactersMax && isText(position))
}

function parsedUser(json: string): KnownUser | undefined {
  try {
    const user = JSON.parse(json) as KnownUser
    return typeof user.username === "string" ? user : undefined
  } catch {
    return undefined
  }
}
