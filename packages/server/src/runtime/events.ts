/**
 * What the server says of itself: one function per event, which writes its log line and moves its counters.
 *
 * Stages take `Events` and call it; nothing else logs or counts. Metrics carry base units (seconds, bytes) and
 * no ids of posts or apps as labels, so that their number stays bounded.
 *
 * Source: Prometheus, "Metric and label naming".
 */
import type { Logger } from "pino"
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Registry } from "prom-client"

/** How an attempt to deliver ended: delivered, or the class of its failure. */
export type AttemptOutcome =
  | "delivered"
  | "refused"
  | "redirect"
  | "timeout"
  | "connect"
  | "tls"
  | "address"
  | "answer"

/** Why a stream connection ended. */
export type StreamEnd = "client" | "shutdown" | "credentials" | "slow-reader" | "failed"

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
  }): void
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
