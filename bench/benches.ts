/** The benches by name: how each runs, and which part of the program it times. */
import { cluster } from "./cluster.ts"
import { conversion } from "./conversion.ts"
import { deliver } from "./deliver.ts"
import { deletion } from "./deletion.ts"
import { endToEnd } from "./end-to-end.ts"
import { envelopesMissing } from "./envelopes.ts"
import { fairness } from "./fairness.ts"
import { idleLinks } from "./idle-links.ts"
import { idleSource } from "./idle-source.ts"
import { importing } from "./import.ts"
import { indexing } from "./indexing.ts"
import { ingest } from "./ingest.ts"
import { links } from "./links.ts"
import { lone } from "./lone.ts"
import { lookup } from "./lookup.ts"
import { match } from "./match.ts"
import { memory } from "./memory.ts"
import { migrate } from "./migrate.ts"
import { pages } from "./pages.ts"
import { postgresMissing } from "./psql.ts"
import { search } from "./search.ts"
import { searching } from "./searching.ts"
import { sourceLive } from "./source-live.ts"
import { sourceReplay } from "./source-replay.ts"
import { brokersMissing, sources } from "./sources.ts"
import { stream } from "./stream.ts"
import { upgrade } from "./upgrade.ts"
import type { Figure } from "./figure.ts"

/** How to run a bench. */
export interface BenchOptions {
  readonly isQuick: boolean
  /** Minutes that `memory` runs. */
  readonly minutes?: number | undefined
  /** The store of `fairness` and `search`. */
  readonly store?: "embedded" | "postgres" | undefined
  /** The only attack that `fairness` makes, or the only bench that `all` runs. */
  readonly only?: string | undefined
}

/** One of the benches. */
interface NamedBench {
  readonly run: (print: (figure: Figure) => void, options: BenchOptions) => Promise<void>
  /** The functions or the process that it times: always the server's own code, never a copy. */
  readonly times: string
  /** Returns why it cannot measure here. Absent where it always can. */
  readonly missing?: () => Promise<string | undefined>
}

const server = "`sluice dev` as a process, over HTTP"

/** Every bench, by the name that the command accepts; benches of the hot paths come first. */
export const benches: Readonly<Record<string, NamedBench>> = {
  match: {
    run: match,
    times: "`PostAcceptor` and `RuleIndex` of the server, with a store that keeps nothing; `RuleMatcher`",
    missing: async () => envelopesMissing(),
  },
  conversion: {
    run: conversion,
    times: "the converters of foreign records",
    missing: async () => envelopesMissing(),
  },
  ingest: { run: ingest, times: server, missing: async () => envelopesMissing() },
  deliver: { run: deliver, times: server },
  lone: { run: lone, times: server },
  "end-to-end": { run: endToEnd, times: server },
  stream: { run: stream, times: server },
  links: { run: links, times: server },
  pages: { run: pages, times: server },
  lookup: { run: lookup, times: server },
  search: { run: search, times: server },
  indexing: { run: indexing, times: server, missing: async () => envelopesMissing() },
  searching: { run: searching, times: server },
  cluster: {
    run: cluster,
    times: "one to three processes of `sluice dev` on a database, over HTTP",
    missing: async () => envelopesMissing() ?? postgresMissing(),
  },
  deletion: { run: deletion, times: server },
  "idle-links": { run: idleLinks, times: server },
  import: { run: importing, times: "`sluice import` as a process" },
  sources: {
    run: sources,
    times: "`startServer` in a process of its own, and the sources of the server",
    missing: brokersMissing,
  },
  "source-replay": { run: sourceReplay, times: server, missing: async () => envelopesMissing() },
  "source-live": { run: sourceLive, times: server, missing: async () => envelopesMissing() },
  "idle-source": { run: idleSource, times: server, missing: async () => envelopesMissing() },
  fairness: { run: fairness, times: server },
  migrate: { run: migrate, times: "`sluice migrate` as a process" },
  upgrade: { run: upgrade, times: server },
  memory: { run: memory, times: server, missing: async () => envelopesMissing() },
}
