/**
 * Events as log lines and metrics, by the part of the server that reports them.
 *
 * Metrics carry base units (seconds, bytes) and no ids of posts or apps as labels, so that their number stays bounded.
 *
 * Source: Prometheus, "Metric and label naming".
 */
import { pino, type Logger } from "pino"
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client"
import { systemClock, type Clock } from "../clock.ts"
import type { Events } from "./events.ts"
import type { LogDestination } from "./log-destination.ts"
import { RepeatedLines } from "./repeated-lines.ts"

/** The metrics as a scraper reads them. */
export interface Metrics {
  /** The media type of the text. */
  readonly contentType: string
  /** All metrics, in Prometheus's text format. */
  metrics(): Promise<string>
}

/** Returns events that are written to `log` and counted in metrics. */
export function recordEvents(
  log: LogDestination,
  logLevel: string,
  clock: Clock,
): { readonly events: Events; readonly metrics: Metrics } {
  const metrics = new Registry()
  const events = createEvents(pino({ level: logLevel }, log), metrics, clock)
  log.onDrop(() => events.logLineDropped())
  return { events, metrics }
}

/** Default metrics that are gauges under the name of a counter. Other metrics have the same counts, by type. */
const misnamed = ["nodejs_active_resources_total", "nodejs_active_handles_total", "nodejs_active_requests_total"]

/** Events that go to a logger and to a registry of metrics. The same failure is logged once a minute. */
export function createEvents(logger: Logger, registry: Registry, clock: Clock = systemClock): Events {
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
  const made = instruments(registry)
  return {
    ...serverEvents(logger, made, clock),
    ...ingestEvents(logger, made),
    ...deliveryEvents(logger, made),
    ...linkStateEvents(made),
    ...controlEvents(logger, made),
    ...streamEvents(logger, made),
    ...sourceEvents(logger, made, clock),
  }
}

/** The store's faults have codes that begin so. */
const storeFaultCodes = /^(?:STORE|RECORD)_/

/**
 * A failure as a line shows it. One of the store is a sentence: where in this program it was met says nothing about a disk,
 * and its cause is in the sentence.
 */
function errorShown(error: unknown): Readonly<Record<string, unknown>> {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  const isStoreFault = error instanceof Error && typeof code === "string" && storeFaultCodes.test(code)
  return isStoreFault ? { reason: error.message } : { err: error }
}

/** Makes the metrics of one registry. */
function instruments(registry: Registry) {
  const registers = [registry]
  return {
    counter: <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers }),
    gauge: <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
      new Gauge({ name, help, labelNames, registers }),
    histogram: <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
      new Histogram({ name, help, labelNames, registers }),
  }
}

type Instruments = ReturnType<typeof instruments>

function serverEvents(logger: Logger, made: Instruments, clock: Clock) {
  const requests = made.histogram(
    "sluice_http_request_duration_seconds",
    "Time from a request's head to the end of its response.",
    "method",
    "route",
    "status",
  )
  const cuts = made.counter(
    "sluice_http_connections_cut_total",
    "Connections that were closed for what their client did, by reason.",
    "reason",
  )
  const droppedLines = made.counter(
    "sluice_log_lines_dropped_total",
    "Log lines that were dropped because the reader of the log stalled.",
  )
  const failures = made.counter("sluice_failures_total", "Unexpected errors, by place.", "where")
  const damaged = made.gauge(
    "sluice_damaged_records",
    "Rules, webhooks, links and other records of the store that are damaged and left out, by who found them.",
    "reader",
  )
  const damagedBefore = new Map<string, string>()
  const repeated = new RepeatedLines(clock)
  // A label set is looked up by a key of its own: the registry's way costs more than a small request.
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
    connectionCut(event) {
      cuts.inc(event)
      logger.debug(event, "connection cut")
    },
    logLineDropped: () => droppedLines.inc(),
    failed({ where, error, ...more }) {
      failures.inc({ where })
      const reason = error instanceof Error ? error.message : String(error)
      const held = repeated.pass([where, more.source, reason].join(" "))
      if (held === undefined) return
      logger.error({ where, ...more, ...errorShown(error), ...(held > 0 && { repeated: held }) }, "failed")
    },
    recordsDamaged({ reader, records }) {
      damaged.set({ reader }, records.length)
      const text = records.join(", ")
      if (text !== "" && text !== damagedBefore.get(reader)) {
        logger.error({ reader, records }, "damaged records are left out: `sluice doctor` says what to do")
      }
      damagedBefore.set(reader, text)
    },
    databaseWarned: (event) => logger.warn(event, "the database should be set up otherwise"),
    storedUsersBegun: (event) => logger.info(event, "users and edits are taken from the posts of an earlier version"),
    storedUsersTaken: (event) => logger.info(event, "users and edits of the posts of an earlier version are taken"),
    serverReady: (event) => logger.info(event, "ready"),
    serverClosing: (event) => logger.info(event, "closing"),
  } satisfies Partial<Events>
}

function ingestEvents(logger: Logger, made: Instruments) {
  const posts = made.counter("sluice_posts_total", "Posts received, by outcome.", "outcome")
  const matches = made.counter("sluice_matches_total", "Entries appended to match logs.")
  const rules = made.gauge("sluice_rules", "Rules that posts are matched against.")
  const scanned = made.gauge(
    "sluice_rules_scanned",
    "Rules without a selective term, which every post is tested against.",
  )
  const candidates = made.counter(
    "sluice_rule_candidates_total",
    "Distinct rules that posts were compared with, over all posts.",
  )
  const omitted = made.counter(
    "sluice_matching_rules_omitted_total",
    "Rules that posts matched and that their matches only count, since they name 64 KiB of others.",
  )
  const skippedRules = made.counter(
    "sluice_rules_skipped_total",
    "Rules that posts were not compared with, since their app had spent its steps for the post.",
  )
  const skippedPosts = made.counter(
    "sluice_posts_with_skipped_rules_total",
    "Posts that were not compared with all rules of an app, counted once for each such app.",
  )
  let last = { candidates: 0, omitted: 0 }
  return {
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
      candidates.inc(event.candidates - last.candidates)
      omitted.inc(event.omitted - last.omitted)
      last = event
    },
    rulesSkipped(event) {
      const { posts: more, postsBefore } = event
      skippedPosts.inc(more)
      skippedRules.inc(event.rules)
      // A line each time the number has doubled, since this may happen with every post.
      if (postsBefore === 0 || Math.floor(Math.log2(postsBefore)) < Math.floor(Math.log2(postsBefore + more)))
        logger.error(event, "rules were skipped: the app had spent its steps for a post")
    },
  } satisfies Partial<Events>
}

function deliveryEvents(logger: Logger, made: Instruments) {
  const attempts = made.counter(
    "sluice_delivery_attempts_total",
    "Attempts to deliver to webhooks, by outcome.",
    "outcome",
  )
  const attemptDurations = made.histogram(
    "sluice_delivery_attempt_duration_seconds",
    "Time from a delivery's request to the end of its response.",
  )
  const deadLetters = made.counter(
    "sluice_dead_letters_total",
    "Matches that became dead letters, by the outcome of their last attempt.",
    "outcome",
  )
  const missed = made.counter("sluice_gap_matches_total", "Matches that retention deleted before a link had read them.")
  const replays = made.counter("sluice_replays_total", "Replays that ended, by state.", "state")
  // As with requests: looked up by a key of its own.
  const attemptsOf = new Map<string, { inc(): void }>()
  return {
    attemptFinished(event) {
      let series = attemptsOf.get(event.outcome)
      if (series === undefined) {
        series = attempts.labels({ outcome: event.outcome })
        attemptsOf.set(event.outcome, series)
      }
      series.inc()
      attemptDurations.observe(event.durationMs / 1000)
      if (event.outcome === "delivered") logger.debug(event, "delivered")
      else if (event.outcome === "post_deleted") logger.info(event, "withdrawn: the post has been deleted")
      else logger.warn(event, "delivery failed, will be tried again")
    },
    matchDeadLettered(event) {
      deadLetters.inc({ outcome: event.outcome })
      logger.error(event, "dead letter")
    },
    endpointStateChanged: (event) => logger.warn(event, event.isDown ? "endpoint is down" : "endpoint is back"),
    gapMade(event) {
      missed.inc(event.to - event.from + 1)
      logger.error(event, "matches were not delivered before their retention ended")
    },
    replayStarted: (event) => logger.info(event, "replay started"),
    replayEnded(event) {
      replays.inc({ state: event.state })
      logger.info(event, "replay ended")
    },
  } satisfies Partial<Events>
}

function linkStateEvents(made: Instruments) {
  const measured = {
    links: made.gauge("sluice_links", "Webhook links."),
    lag: made.gauge("sluice_delivery_lag_matches", "Matches that links have not delivered, over all links."),
    oldest: made.gauge(
      "sluice_delivery_oldest_undelivered_age_seconds",
      "Age of the oldest match that some link has not delivered, invalid webhooks included and paused links left out.",
    ),
    inFlight: made.gauge("sluice_deliveries_in_flight", "Attempts to deliver that are in flight."),
    down: made.gauge("sluice_links_down", "Links whose endpoint is down."),
    paused: made.gauge("sluice_links_paused", "Links that send nothing because their apps have paused them."),
    invalid: made.gauge("sluice_links_invalid", "Links that send nothing because their webhooks are invalid."),
    deadLetters: made.gauge("sluice_dead_letters", "Dead letters that are kept."),
  }
  // Without a measurement there is nothing to show: a 0 would be taken for one.
  const forget = (): void => {
    for (const one of Object.values(measured)) one.remove()
  }
  forget()
  return {
    linksMeasured(event) {
      measured.links.set(event.links)
      measured.lag.set(event.lag)
      measured.oldest.set(event.oldestUndeliveredAgeMs / 1000)
      measured.inFlight.set(event.inFlight)
      measured.down.set(event.down)
      measured.paused.set(event.paused)
      measured.invalid.set(event.invalid)
      measured.deadLetters.set(event.deadLetters)
    },
    linksNotMeasured: forget,
  } satisfies Partial<Events>
}

function controlEvents(logger: Logger, made: Instruments) {
  const trimmed = made.counter("sluice_retention_trimmed_total", "What retention deleted, by kind.", "kind")
  const deletions = made.counter("sluice_deletions_total", "Deletions that were asked for, by way.", "way")
  const challenges = made.counter("sluice_challenges_total", "Webhook challenges, by outcome.", "outcome")
  const ahead = made.gauge(
    "sluice_clock_ahead_seconds",
    "How far the clock is ahead of the time by which retention deletes; 0 when it goes by the clock.",
  )
  return {
    clockChecked({ aheadMs, isNews }) {
      ahead.set(aheadMs / 1000)
      if (!isNews) return
      if (aheadMs === 0) logger.info({ aheadMs }, "retention goes by the clock again")
      else
        logger.warn(
          { aheadMs },
          "the clock has jumped ahead, retention goes on from the time before until it is steady",
        )
    },
    retentionPassed(event) {
      trimmed.inc({ kind: "match" }, event.matches)
      trimmed.inc({ kind: "post" }, event.posts)
      trimmed.inc({ kind: "dead_letter" }, event.deadLetters)
      logger.debug(event, "retention passed")
    },
    deletionsRequested(event) {
      deletions.inc({ way: event.way }, event.count)
      logger.info(event, "deletions")
    },
    challengeFinished(event) {
      challenges.inc({ outcome: event.outcome })
      logger.info(event, "challenge finished")
    },
    webhookTested: (event) => logger.info(event, "webhook tested"),
    webhookValidityChanged: (event) =>
      logger.warn(event, event.valid ? "webhook is valid again" : "webhook is invalid, deliveries wait"),
  } satisfies Partial<Events>
}

function streamEvents(logger: Logger, made: Instruments) {
  const streams = made.gauge("sluice_stream_connections", "Open stream connections.")
  const ends = made.counter(
    "sluice_stream_connections_closed_total",
    "Stream connections that ended, by reason.",
    "reason",
  )
  return {
    streamOpened(event) {
      streams.inc()
      logger.info(event, "stream connection opened")
    },
    streamClosed(event) {
      streams.dec()
      ends.inc({ reason: event.reason })
      logger.info(event, "stream connection closed")
    },
  } satisfies Partial<Events>
}

/** Outcomes of the records of a source, as the metric names them. */
const sourceOutcomes = ["accepted", "duplicate", "deleted", "ignored", "rejected", "returned"] as const

/** The metrics of sources, each with the name of its source as a label. */
function sourceInstruments(made: Instruments) {
  return {
    connected: made.gauge("sluice_source_connected", "Whether records of the source are taken: 1 or 0.", "source"),
    messages: made.counter("sluice_source_messages_total", "Records of the source, by outcome.", "source", "outcome"),
    redelivered: made.counter(
      "sluice_source_messages_redelivered_total",
      "Records that the source had sent before.",
      "source",
    ),
    gaps: made.counter(
      "sluice_source_gaps_total",
      "Times that the source had lost records that were not taken.",
      "source",
    ),
    measured: {
      pending: made.gauge(
        "sluice_source_pending_messages",
        "Records that the source has not sent to any process: the lag.",
        "source",
      ),
      unacknowledged: made.gauge(
        "sluice_source_unacknowledged_messages",
        "Records that the source has sent and that are not acknowledged, over all processes.",
        "source",
      ),
      inFlight: made.gauge("sluice_source_messages_in_flight", "Records that this process is taking.", "source"),
    },
    behind: made.gauge("sluice_source_behind_seconds", "How far behind the source this process is.", "source"),
  }
}

function sourceEvents(logger: Logger, made: Instruments, clock: Clock) {
  const { connected, messages, redelivered, gaps, measured, behind } = sourceInstruments(made)
  const repeated = new RepeatedLines(clock)
  const gauges = [...Object.values(measured), behind]
  return {
    sourceStarted(event) {
      const { source } = event
      connected.set({ source }, 0)
      // A counter that exists before it first counts shows that step to `increase()`.
      for (const outcome of sourceOutcomes) messages.inc({ source, outcome }, 0)
      redelivered.inc({ source }, 0)
      gaps.inc({ source }, 0)
      logger.info(event, "source started")
    },
    sourceConnected(event) {
      connected.set({ source: event.source }, 1)
      logger.info(event, "source connected")
    },
    sourceDisconnected(event) {
      connected.set({ source: event.source }, 0)
      logger.warn(event, "source disconnected, will be tried again")
    },
    sourceMessagesDone({ source, accepted, duplicates, deleted, ignored }) {
      messages.inc({ source, outcome: "accepted" }, accepted)
      messages.inc({ source, outcome: "duplicate" }, duplicates)
      messages.inc({ source, outcome: "deleted" }, deleted)
      messages.inc({ source, outcome: "ignored" }, ignored)
    },
    sourceMessageDeadLettered(event) {
      messages.inc({ source: event.source, outcome: "rejected" })
      const held = repeated.pass(`${event.source} ${event.title}`)
      if (held === undefined) return
      logger.error({ ...event, ...(held > 0 && { repeated: held }) }, "message is no post: sent to the dead letters")
    },
    sourceMessagesReturned(event) {
      messages.inc({ source: event.source, outcome: "returned" }, event.messages)
      const held = repeated.pass(`${event.source} returned`)
      if (held !== undefined) logger.warn(event, "messages were returned to the source, which sends them again")
    },
    sourceMessageRedelivered: ({ source }) => redelivered.inc({ source }),
    sourceMeasured({ source, behindMs, ...counts }) {
      for (const name of ["pending", "unacknowledged", "inFlight"] as const) {
        const count = counts[name]
        if (count === undefined) measured[name].remove({ source })
        else measured[name].set({ source }, count)
      }
      if (behindMs === undefined) behind.remove({ source })
      else behind.set({ source }, behindMs / 1000)
    },
    // Without a measurement there is nothing to show: a 0 would be taken for one.
    sourceNotMeasured({ source }) {
      for (const gauge of gauges) gauge.remove({ source })
    },
    sourceGapFound(event) {
      gaps.inc({ source: event.source })
      logger.error(event, "the source has lost records that were not taken")
    },
    sourceNoticed: ({ message, ...event }) => logger.warn({ ...event, notice: message }, "a notice about the source"),
  } satisfies Partial<Events>
}
