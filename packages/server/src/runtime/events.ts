/**
 * What the server says of itself: one function per event, which writes its log line and moves its counters.
 *
 * Stages take `Events` and call it; nothing else logs or counts. Metrics carry base units (seconds, bytes) and
 * no ids of posts or apps as labels, so that their number stays bounded.
 *
 * Source: Prometheus, "Metric and label naming".
 */
import type { AttemptOutcome } from "@sluice/api"
import type { Logger } from "pino"
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Registry } from "prom-client"

/** Why a stream connection ended. */
export type StreamEnd = "client" | "shutdown" | "credentials" | "slow-reader" | "finished" | "failed"

/** Sums over all links, those with invalid webhooks included. */
export interface LinksMeasured {
  readonly links: number
  /** Matches that are not delivered. */
  readonly lag: number
  /** Age of the oldest match that some link has not delivered; 0 when there is none. */
  readonly oldestUndeliveredAgeMs: number
  readonly inFlight: number
  /** Links whose endpoint is down. */
  readonly down: number
  /** Links that are held, since their webhooks are not valid. */
  readonly invalid: number
  readonly deadLetters: number
}

/** The events. */
export interface Events {
  requestFinished(event: { method: string; route: string; status: number; durationMs: number }): void
  /** An error that is ours to explain: a request or a stage that failed without a `Problem`. */
  failed(event: { where: string; error: unknown }): void
  postsAccepted(event: { accepted: number; duplicates: number; rejected: number; matches: number }): void
  /** `candidates` counts from the start of the process. */
  rulesIndexed(event: { rules: number; scanned: number; candidates: number }): void
  attemptFinished(event: {
    webhookId: string
    eventId: string
    outcome: AttemptOutcome
    status: number | undefined
    durationMs: number
    /** What went wrong, in words. */
    error?: string | undefined
  }): void
  /** A match became a dead letter. */
  matchDied(event: { webhookId: string; eventId: string; outcome: AttemptOutcome; failures: number }): void
  /** An endpoint went down, as far as its deliveries tell, or came back. */
  endpointTurned(event: { webhookId: string; isDown: boolean }): void
  /** Retention took matches away before a link had read them. */
  gapMade(event: { webhookId: string; from: number; to: number }): void
  /** How all links stand now; told again and again. */
  linksMeasured(event: LinksMeasured): void
  replayStarted(event: { replayId: string; webhookId: string; matches: number }): void
  replayEnded(event: {
    replayId: string
    webhookId: string
    state: "complete" | "incomplete"
    delivered: number
    failed: number
  }): void
  /** What a pass of retention took away. */
  retentionPassed(event: { matches: number; posts: number; deadLetters: number }): void
  challengeFinished(event: {
    webhookId: string
    outcome: "valid" | "invalid" | "unreachable"
    detail: string
  }): void
  webhookTurned(event: { webhookId: string; valid: boolean }): void
  streamOpened(event: { appId: string }): void
  streamClosed(event: { appId: string; reason: StreamEnd; delivered: number }): void
  serverReady(event: { url: string; posture: string }): void
  serverClosing(event: { reason: string }): void
}

/** Events that go to a logger and to a registry of metrics. */
export function createEvents(logger: Logger, registry: Registry): Events {
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const requests = new Histogram({
    name: "sluice_http_request_duration_seconds",
    help: "Time from a request's head to the end of its answer.",
    labelNames: ["method", "route", "status"] as const,
    registers,
  })
  const failures = new Counter({
    name: "sluice_failures_total",
    help: "Errors that nobody expected, by place.",
    labelNames: ["where"] as const,
    registers,
  })
  const posts = new Counter({
    name: "sluice_posts_total",
    help: "Posts poured in, by what became of them.",
    labelNames: ["outcome"] as const,
    registers,
  })
  const matches = new Counter({
    name: "sluice_matches_total",
    help: "Entries appended to match logs.",
    registers,
  })
  const rules = new Gauge({ name: "sluice_rules", help: "Rules that posts are matched against.", registers })
  const scanned = new Gauge({
    name: "sluice_rules_scanned",
    help: "Rules without a selective term, which every post is tested against.",
    registers,
  })
  const candidates = new Counter({
    name: "sluice_rule_candidates_total",
    help: "Distinct rules that posts were compared with, over all posts.",
    registers,
  })
  let lastCandidates = 0
  const attempts = new Counter({
    name: "sluice_delivery_attempts_total",
    help: "Attempts to deliver to webhooks, by outcome.",
    labelNames: ["outcome"] as const,
    registers,
  })
  const attemptDurations = new Histogram({
    name: "sluice_delivery_attempt_duration_seconds",
    help: "Time from a delivery's send to the end of its answer.",
    registers,
  })
  const died = new Counter({
    name: "sluice_dead_letters_total",
    help: "Matches that became dead letters, by how their last attempt ended.",
    labelNames: ["outcome"] as const,
    registers,
  })
  const missed = new Counter({
    name: "sluice_gap_matches_total",
    help: "Matches that retention took away before a link had read them.",
    registers,
  })
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers })
  const measured = {
    links: gauge("sluice_links", "Webhook links."),
    lag: gauge("sluice_delivery_lag_matches", "Matches that links have not delivered, over all links."),
    oldest: gauge(
      "sluice_delivery_oldest_undelivered_age_seconds",
      "Age of the oldest match that some link has not delivered, invalid webhooks included.",
    ),
    inFlight: gauge("sluice_deliveries_in_flight", "Attempts to deliver that are under way."),
    down: gauge("sluice_links_down", "Links whose endpoint is down."),
    invalid: gauge("sluice_links_invalid", "Links that are held, since their webhooks are not valid."),
    deadLetters: gauge("sluice_dead_letters", "Dead letters that are kept."),
  }
  const replays = new Counter({
    name: "sluice_replays_total",
    help: "Replays that ended, by state.",
    labelNames: ["state"] as const,
    registers,
  })
  const trimmed = new Counter({
    name: "sluice_retention_trimmed_total",
    help: "What retention took away, by kind.",
    labelNames: ["kind"] as const,
    registers,
  })
  const challenges = new Counter({
    name: "sluice_challenges_total",
    help: "Webhook challenges, by outcome.",
    labelNames: ["outcome"] as const,
    registers,
  })
  const streams = new Gauge({
    name: "sluice_stream_connections",
    help: "Open stream connections.",
    registers,
  })
  const streamEnds = new Counter({
    name: "sluice_stream_connections_closed_total",
    help: "Stream connections that ended, by reason.",
    labelNames: ["reason"] as const,
    registers,
  })
  // A label set is looked up by a key of its own: the registry's way costs more than answering a small request.
  const requestsOf = new Map<string, { observe(seconds: number): void }>()
  return {
    requestFinished(event) {
      const { method, route, status, durationMs } = event
      const key = `${method} ${status} ${route}`
      let series = requestsOf.get(key)
      if (series === undefined) {
        series = requests.labels({ method, route, status })
        requestsOf.set(key, series)
      }
      series.observe(durationMs / 1000)
      logger.debug(event, "request finished")
    },
    failed({ where, error }) {
      failures.inc({ where })
      logger.error({ where, err: error }, "failed")
    },
    postsAccepted(event) {
      posts.inc({ outcome: "accepted" }, event.accepted)
      posts.inc({ outcome: "duplicate" }, event.duplicates)
      posts.inc({ outcome: "rejected" }, event.rejected)
      matches.inc(event.matches)
      logger.debug(event, "posts accepted")
    },
    rulesIndexed(event) {
      rules.set(event.rules)
      scanned.set(event.scanned)
      candidates.inc(event.candidates - lastCandidates)
      lastCandidates = event.candidates
    },
    attemptFinished(event) {
      attempts.inc({ outcome: event.outcome })
      attemptDurations.observe(event.durationMs / 1000)
      if (event.outcome === "delivered") logger.debug(event, "delivered")
      else logger.warn(event, "delivery failed, will be tried again")
    },
    matchDied(event) {
      died.inc({ outcome: event.outcome })
      logger.error(event, "dead letter")
    },
    endpointTurned(event) {
      logger.warn(event, event.isDown ? "endpoint is down" : "endpoint is back")
    },
    gapMade(event) {
      missed.inc(event.to - event.from + 1)
      logger.error(event, "matches were not delivered before their retention ended")
    },
    linksMeasured(event) {
      measured.links.set(event.links)
      measured.lag.set(event.lag)
      measured.oldest.set(event.oldestUndeliveredAgeMs / 1000)
      measured.inFlight.set(event.inFlight)
      measured.down.set(event.down)
      measured.invalid.set(event.invalid)
      measured.deadLetters.set(event.deadLetters)
    },
    replayStarted(event) {
      logger.info(event, "replay started")
    },
    replayEnded(event) {
      replays.inc({ state: event.state })
      logger.info(event, "replay ended")
    },
    retentionPassed(event) {
      trimmed.inc({ kind: "match" }, event.matches)
      trimmed.inc({ kind: "post" }, event.posts)
      trimmed.inc({ kind: "dead_letter" }, event.deadLetters)
      logger.debug(event, "retention passed")
    },
    challengeFinished(event) {
      challenges.inc({ outcome: event.outcome })
      logger.info(event, "challenge finished")
    },
    webhookTurned(event) {
      logger.warn(event, event.valid ? "webhook is valid again" : "webhook is invalid, deliveries are held")
    },
    streamOpened(event) {
      streams.inc()
      logger.info(event, "stream connection opened")
    },
    streamClosed(event) {
      streams.dec()
      streamEnds.inc({ reason: event.reason })
      logger.info(event, "stream connection closed")
    },
    serverReady(event) {
      logger.info(event, "ready")
    },
    serverClosing(event) {
      logger.info(event, "closing")
    },
  }
}
