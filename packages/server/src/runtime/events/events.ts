/**
 * The events that the server reports: one function each. Stages take `Events` and call it; nothing else logs or counts.
 * `recorded-events.ts` writes the log lines and moves the metrics.
 */
import type { AttemptOutcome } from "@sluice/api"

/** Why a stream connection ended. */
export type StreamEnd =
  | "client"
  | "shutdown"
  | "credentials"
  | "replaced"
  /** Its app has ended it, by `DELETE /2/connections`. */
  | "forced"
  | "slow-reader"
  | "finished"
  /** The app has got as many posts in this month as it may. */
  | "usage-cap"
  | "failed"
  /** Asked for, on a server for development. */
  | "on-demand"

/**
 * Why a connection was cut: there were too many, it sent more requests than may wait, its client did not read the responses,
 * or all connections together held too much of heads and unparsed reads.
 */
export type ConnectionCut = "over-limit" | "pipelining" | "unread" | "input"

/** Sums over all links, those with invalid webhooks included. */
export interface LinksMeasured {
  readonly links: number
  /** Matches that are not delivered. */
  readonly lag: number
  /** Age of the oldest match that some link has not delivered, without paused links; 0 when there is none. */
  readonly oldestUndeliveredAgeMs: number
  readonly inFlight: number
  /** Links whose endpoint is down. */
  readonly down: number
  /** Links that send nothing, since their apps have paused them. */
  readonly paused: number
  /** Links that send nothing, since their webhooks are invalid. */
  readonly invalid: number
  readonly deadLetters: number
  /** The same of each app that has links. */
  readonly byApp: ReadonlyMap<string, Pick<LinksMeasured, "lag" | "oldestUndeliveredAgeMs">>
}

/** The events. */
export interface Events {
  requestFinished(event: { method: string; route: string; status: number; durationMs: number }): void
  connectionCut(event: { reason: ConnectionCut }): void
  /** A log line was dropped for lack of room, which is not logged. */
  logLineDropped(): void
  /** A request or a stage failed other than with a `Problem`. */
  failed(event: {
    where: string
    error: unknown
    /** The name of the source of posts that has failed. */
    source?: string
    /** The sentence for the operator that says what to do, where that is known. */
    advice?: string | undefined
  }): void
  postsAccepted(event: { accepted: number; duplicates: number; rejected: number; matches: number }): void
  /** Deletions of posts and users that were asked for, whether these are stored or not. */
  deletionsRequested(event: { way: "request" | "line"; count: number }): void
  /** `candidates` and `omitted`, rules that matches do not name, count from the start of the process. */
  rulesIndexed(event: { rules: number; scanned: number; candidates: number; omitted: number }): void
  /**
   * Posts were not compared with some rules of an app, because the app had spent its steps for the post. Covers the posts
   * since the last report; `postsBefore` counts those of earlier reports.
   */
  rulesSkipped(event: { appId: string; posts: number; rules: number; lastPostId: string; postsBefore: number }): void
  attemptFinished(event: {
    appId: string
    webhookId: string
    eventId: string
    outcome: AttemptOutcome
    status: number | undefined
    durationMs: number
    /** The post that it delivers; absent for events that deliver none. */
    postId?: string | undefined
    /** The failure, in words. */
    error?: string | undefined
  }): void
  /** A match became a dead letter. */
  matchDeadLettered(event: { webhookId: string; eventId: string; outcome: AttemptOutcome; failures: number }): void
  /** An endpoint went down, judged by its deliveries, or came back. */
  endpointStateChanged(event: { webhookId: string; isDown: boolean }): void
  /** Retention deleted matches before a link had read them. */
  gapMade(event: { webhookId: string; from: number; to: number }): void
  /** The current state of all links, reported periodically. */
  linksMeasured(event: LinksMeasured): void
  /** The state of the links cannot be measured: the last measurement is void. */
  linksNotMeasured(): void
  /** All control records that a reader has found damaged and leaves out, reported periodically. */
  recordsDamaged(event: { reader: "rules" | "server"; records: readonly string[] }): void
  replayStarted(event: { replayId: string; webhookId: string; matches: number }): void
  replayEnded(event: {
    replayId: string
    webhookId: string
    state: "complete" | "incomplete"
    delivered: number
    failed: number
  }): void
  /**
   * How far the clock is ahead of the time by which retention deletes, once a minute; 0 when retention goes by it.
   * `isNews`: it was otherwise a minute ago.
   */
  clockChecked(event: { aheadMs: number; isNews: boolean }): void
  /** Users are taken from the posts up to this id, which an earlier version has stored. */
  storedUsersBegun(event: { upTo: string }): void
  /** All of them are taken, from so many posts since the start. */
  storedUsersTaken(event: { posts: number }): void
  /** Counts of the entries that a pass of retention deleted. */
  retentionPassed(event: { matches: number; posts: number; deadLetters: number }): void
  challengeFinished(event: { webhookId: string; outcome: "valid" | "invalid" | "unreachable"; detail: string }): void
  /** A test of a webhook ended. It is no delivery: nothing is tried again. */
  webhookTested(event: {
    appId: string
    webhookId: string
    eventId: string
    outcome: AttemptOutcome
    status: number | undefined
    durationMs: number
    error?: string | undefined
  }): void
  webhookValidityChanged(event: { webhookId: string; valid: boolean }): void
  streamOpened(event: { appId: string }): void
  streamClosed(event: { appId: string; reason: StreamEnd; delivered: number }): void
  /** A source is configured, and takes no records yet. */
  sourceStarted(event: { source: string }): void
  /** A source takes records from `to`, or no longer does. */
  sourceConnected(event: { source: string; to: string }): void
  sourceDisconnected(event: { source: string }): void
  /** Records of a source that are done; `ignored` held nothing to store. */
  sourceMessagesDone(event: {
    source: string
    accepted: number
    duplicates: number
    deleted: number
    ignored: number
  }): void
  /** A record that is no post is kept elsewhere, and not sent again. `place` says where it stood. */
  sourceMessageDeadLettered(event: { source: string; title: string; detail: string; place?: string }): void
  /** Records were given back to the source, which sends them again later. */
  sourceMessagesReturned(event: { source: string; messages: number; delayMs: number }): void
  /** A record came that the source had sent before. */
  sourceMessageRedelivered(event: { source: string }): void
  /**
   * The current state of a source, reported periodically: records that no process has been sent yet; that were sent to some
   * process and are not acknowledged; those of them that this process has; and how far behind the source it is. Figures that
   * are not known are absent.
   */
  sourceMeasured(event: {
    source: string
    pending?: number
    unacknowledged?: number
    inFlight?: number
    behindMs?: number
  }): void
  /** The state of a source cannot be measured: the last measurement is void. */
  sourceNotMeasured(event: { source: string }): void
  /** A source no longer has records that were not taken: from when to when, as Unix times, if that is known. */
  sourceGapFound(event: { source: string; fromMs?: number; toMs?: number; reason: string }): void
  /** A source is in a state that keeps records away, and that is no failure: a sentence, and what to do. */
  sourceNoticed(event: { source: string; message: string; advice?: string }): void
  /** The database should be set up otherwise, found at the start: a sentence, and what to set. */
  databaseWarned(event: { text: string; advice: string }): void
  serverReady(event: { url: string; posture: string }): void
  serverClosing(event: { reason: string }): void
}
