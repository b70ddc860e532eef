import { statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { compileCache } from "./test/support/compile-cache.ts"
import { whyNoPostgres } from "./test/support/postgres.testing.ts"
import { repeating } from "./test/support/repeated-tests.ts"

/** Needs code that nothing has run before it. */
const guidedFuzz = "test/fuzz/**/*.test.ts"

/** Whatever works on a store and is not about SQLite: it runs on the embedded store in `all`, and on PostgreSQL too. */
const onEveryStore = [
  "packages/server/src/{control,delivery,http,ingest,paging,queries,search}/**/*.test.ts",
  "packages/client/src/**/*.test.ts",
  "test/compatibility/**/*.test.ts",
  "test/real-clients/**/*.test.ts",
  "test/{embeddings,internal-receivers,recorded-posts,usage}.test.ts",
  "test/docs/pagination-rules.test.ts",
]

/** Damages the file of SQLite; has leases of its own, under which PostgreSQL would save nothing. */
const onSqliteOnly = [
  "packages/server/src/control/readiness.test.ts",
  "packages/server/src/delivery/links/link-leases.test.ts",
]

/** Works on PostgreSQL alone, whatever the store of the others is. */
const onPostgresOnly = [
  "packages/server/src/store/cluster/**/*.test.ts",
  "packages/server/src/{delivery/streams,ingest}/shared-*.test.ts",
  "test/two-processes.test.ts",
  "packages/server/src/migrate/**/*.test.ts",
  "packages/server/src/doctor/database.test.ts",
  "packages/sluice/src/commands/migrate.test.ts",
]

/** Whole servers and the brokers and networks that they take posts from: they wait most of the time, and have a script of their own. */
const sources = "packages/server/src/sources/**/*.test.ts"

/** The files that take longest, the longest first: one that began last would run alone. */
const longest = [
  "packages/server/src/store/embedded/serving/embedded-store.test.ts",
  "test/search-random.test.ts",
  "test/search.test.ts",
  "packages/server/src/delivery/links/endpoint-outages.test.ts",
  "packages/server/src/control/retention.test.ts",
  "test/recorded-posts.test.ts",
  "packages/rules/src/real-posts.test.ts",
  "packages/rules/src/language/parse-rule.fuzz.test.ts",
  "packages/sluice/src/commands/exec.test.ts",
  "packages/sluice/src/commands/dev.test.ts",
  "packages/sluice/src/demo/demo.test.ts",
  "packages/server/src/http/routes/replays.test.ts",
]

/** Starts with the longest files, then as Vitest would. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = longest.findIndex((path) => moduleId.endsWith(`/${path}`))
      return found === -1 ? longest.length : found
    }
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of Vitest
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => place(a) - place(b))
  }
}

/**
 * The directory of what tests write: in memory where there is room, since they make thousands of stores, which sync each
 * commit, and no test is about the disk but those of `faults`.
 */
function temporaryFiles(): string {
  const memory = "/dev/shm"
  if (process.env["TMPDIR"] !== undefined || process.platform !== "linux") return tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > 4 * 2 ** 30 ? memory : tmpdir()
}

const noPostgres = await whyNoPostgres()
if (noPostgres !== undefined) console.warn(`Tests on PostgreSQL are skipped: ${noPostgres}`)

/** Start, kill and start again whole servers: they take a minute or two, and have a script of their own. */
const faults = "test/faults/**/*.test.ts"

/** Servers of tests load one bundle. */
const bundled = { globalSetup: "test/support/bundle.ts", setupFiles: "test/support/bundle-threads.testing.ts" }

export default defineConfig({
  test: {
    ...repeating,
    // Most tests wait for something: with a worker for each of two cores, both would stand idle now and then.
    maxWorkers: 4,
    // Sources run as they do in the program: by Node itself, and once for all test files of a worker.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    isolate: false,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "all",
          include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: [guidedFuzz, faults, sources, "test/install/**", "test/{console,site}/**", ...onPostgresOnly],
          env: { TMPDIR: temporaryFiles() },
          ...bundled,
        },
      },
      {
        extends: true,
        test: { name: "sources", include: [sources], env: { TMPDIR: temporaryFiles() }, ...bundled },
      },
      {
        extends: true,
        test: { name: "cluster", include: noPostgres === undefined ? onPostgresOnly : [], ...bundled },
      },
      {
        extends: true,
        test: {
          name: "postgres",
          include: noPostgres === undefined ? onEveryStore : [],
          exclude: [...onSqliteOnly, ...onPostgresOnly],
          env: { SLUICE_TEST_STORE: "postgres" },
          // A property runs a life of a server a hundred times, of which each makes a store.
          testTimeout: 400_000,
          ...bundled,
        },
      },
      { extends: true, test: { name: "guided fuzz", include: [guidedFuzz], isolate: true } },
      { extends: true, test: { name: "faults", include: [faults] } },
    ],
    env: compileCache,
    // Many times what they take: on a machine that is shared a test may well take four times as long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // The one wait for a fact: `await expect.poll(() => fact).toBe(…)`.
    expect: { poll: { timeout: 60_000, interval: 10 } },
  },
})
