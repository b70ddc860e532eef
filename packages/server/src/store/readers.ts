/**
 * For whom a store reads and writes, by the arguments of the call: what both stores share out their turns by.
 *
 *     requests of the API ──► by app, in turn ──┐
 *                                               ├─► in turn
 *     links, streams, the server ──► by app ────┘
 *
 * Calls of one app wait for each other, and those of another app do not wait for them. Readers of logs are a class of their
 * own, so that no number of requests holds up a delivery.
 */
import { FairQueue } from "../runtime/fair-queue.ts"
import type { StoreReads, StoreWrites } from "./store.ts"

/** For whom a call is. */
export interface Reader {
  /** `log`: links, replays, streams, and what the server does by itself. `request`: requests of the API. */
  readonly kind: "log" | "request"
  /** Its calls wait for each other: an app, or a part of the server. */
  readonly owner: string
}

/** The server itself. */
export const serverItself: Reader = { kind: "log", owner: "server" }

/** A reader of an app's match log: a link, a replay or a stream. */
export function logReader(appId: string): Reader {
  return { kind: "log", owner: appId }
}

/** A request of an app, or of an operator where there is none. */
export function requestOf(appId: string | undefined): Reader {
  return { kind: "request", owner: appId ?? "operators" }
}

/** Calls that wait: the classes in turn, and of each class one owner after the other. */
export class ReaderQueue<Item> {
  readonly #waiting = { log: new FairQueue<Item>(), request: new FairQueue<Item>() }
  /** The class whose turn is next. */
  #next: Reader["kind"] = "log"

  /** Number of calls, of both classes. */
  get size(): number {
    return this.#waiting.log.size + this.#waiting.request.size
  }

  /** Returns a function that withdraws the call; it has no effect once the call has had its turn. */
  push({ kind, owner }: Reader, item: Item): () => void {
    return this.#waiting[kind].push(owner, item)
  }

  /** Removes and returns the next call, of the class whose turn it is unless none of that waits. */
  shift(): Item | undefined {
    const kind = this.#next
    const other = kind === "log" ? "request" : "log"
    this.#next = other
    return this.#waiting[kind].shift() ?? this.#waiting[other].shift()
  }
}

const server = (): Reader => serverItself

type ReaderOf<Calls> = {
  readonly [Name in keyof Calls]: Calls[Name] extends (...args: infer Args) => unknown
    ? (...args: Args) => Reader
    : never
}

/** For whom each read is. */
export const readerOf: ReaderOf<StoreReads> = {
  apps: () => requestOf(undefined),
  app: requestOf,
  // The owner is known only after the read, and a made-up key would count as an owner of its own.
  appByConsumerKey: () => requestOf("tokens"),
  token: (_hash, reader) => requestOf(reader ?? "tokens"),
  tokens: () => requestOf(undefined),
  isSessionEnded: (_id, reader) => requestOf(reader),
  connectionPage: ({ appId }) => requestOf(appId),
  rules: requestOf,
  rulesByValue: requestOf,
  ruleCount: requestOf,
  ruleMatches: (_ids, reader) => requestOf(reader),
  allRules: server,
  ruleChanges: server,
  webhooks: requestOf,
  webhook: requestOf,
  webhookPage: ({ appId }) => requestOf(appId),
  allWebhooks: server,
  links: requestOf,
  link: requestOf,
  allLinks: (appId) => (appId === undefined ? serverItself : requestOf(appId)),
  linkPage: ({ appId }) => requestOf(appId),
  linkToDeliver: server,
  retries: (_linkId, _shape, reader) => (reader === undefined ? serverItself : logReader(reader)),
  gaps: (_linkId, reader) => requestOf(reader),
  linkTally: (_linkId, reader) => requestOf(reader),
  attempts: (_linkId, _limit, reader) => requestOf(reader),
  attempt: (_linkId, _id, reader) => requestOf(reader),
  deadLetters: ({ appId }) => requestOf(appId),
  replays: ({ appId }) => (appId === undefined ? serverItself : requestOf(appId)),
  backfillMatches: server,
  damagedRecords: server,
  lastId: server,
  controlVersion: server,
  heads: server,
  head: logReader,
  positionAt: logReader,
  trimmed: logReader,
  match: logReader,
  matches: ({ appId }) => logReader(appId),
  userPosts: ({ reader }) => requestOf(reader),
  isUserKnown: (_id, reader) => requestOf(reader),
  usersById: (_ids, reader) => requestOf(reader),
  usersByName: (_usernames, reader) => requestOf(reader),
  usersByPrefix: ({ reader }) => requestOf(reader),
  usersByWords: ({ reader }) => requestOf(reader),
  userFill: server,
  chainsOf: (_ids, reader) => requestOf(reader),
  supersededOf: (_ids, reader) => requestOf(reader),
  supersededWithin: ({ reader }) => requestOf(reader),
  post: (_id, reader) => requestOf(reader),
  postsById: ({ reader }) => requestOf(reader),
  posts: ({ reader }) => requestOf(reader),
  matchesOfPost: (_id, appId) => requestOf(appId),
  recentPosts: server,
  arrivedPosts: server,
  arrivalHead: server,
  deletions: server,
  deletionsAt: server,
  deletedPosts: server,
  deletionPositionAt: server,
  deletionHead: server,
  arrivalPlaces: server,
  knownTime: server,
  usage: requestOf,
  sources: server,
  assignedNames: server,
  sourceGaps: () => requestOf(undefined),
  sourceDeadLetters: () => requestOf(undefined),
  sourceDeadLetterCounts: () => requestOf(undefined),
}

/** For whom each write is, where writes share connections. */
export const writerOf: ReaderOf<StoreWrites> = {
  beginEpoch: server,
  createApp: () => requestOf(undefined),
  rotateApp: () => requestOf(undefined),
  replaceSecrets: () => requestOf(undefined),
  revokeApp: () => requestOf(undefined),
  setAppLimits: () => requestOf(undefined),
  createToken: () => requestOf(undefined),
  noteTokenUses: server,
  deleteToken: () => requestOf(undefined),
  endSession: () => requestOf("sessions"),
  saveConnections: server,
  endConnections: requestOf,
  endLostConnections: server,
  trimConnections: server,
  addRules: requestOf,
  deleteRules: requestOf,
  setRuleTag: requestOf,
  countRuleMatches: server,
  forgetRuleChanges: server,
  createWebhook: ({ appId }) => requestOf(appId),
  markWebhookValid: requestOf,
  invalidateWebhook: requestOf,
  rotateSigningKey: requestOf,
  describeWebhook: requestOf,
  deleteWebhook: requestOf,
  createLink: ({ appId }) => requestOf(appId),
  deleteLink: requestOf,
  setLinkOrdered: requestOf,
  setLinkPaused: requestOf,
  saveProgress: server,
  recordAttempts: server,
  redeliver: ({ appId }) => requestOf(appId),
  redeliverMatches: (_matches, appId) => requestOf(appId),
  hastenRetries: (_webhookId, appId) => requestOf(appId),
  createReplay: ({ appId }) => requestOf(appId),
  saveReplay: server,
  addBackfillMatches: server,
  endReplay: server,
  saveKnownTime: server,
  trimMatches: server,
  trimPosts: server,
  trimDeadLetters: server,
  append: server,
  takeUsers: server,
  delete: server,
  continueDeletions: server,
  forgetDeletions: server,
  overwriteDeleted: server,
  eraseDeleted: server,
  countUsage: server,
  trimUsage: server,
  beginSource: server,
  appendFrom: server,
  pauseSource: () => requestOf(undefined),
  rewindSource: () => requestOf(undefined),
  noteSourceGap: server,
  deleteSourceDeadLetters: () => requestOf(undefined),
  trimAssignedNames: server,
}
