/** Runs test files in a copy of the repository, in a process of its own that always ends. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** How tests ended. `broken`: none has failed, and yet they did not pass, as when a file does not load. */
export type TestsEnd =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly test: string }
  | { readonly kind: "hung" }
  | { readonly kind: "broken"; readonly output: string }

interface Report {
  readonly success: boolean
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

/** The folder of recorded posts, unless a setting names another: next to the checkout, and not next to its copy. */
const shared = process.env["SLUICE_SHARED"] ?? fileURLToPath(new URL("../../../shared", import.meta.url))

/** How long tests may take. */
interface TestLimits {
  readonly workers: number
  /** Longest for all of them. */
  readonly msMax: number
  /** Longest for one, or for what tidies up after it, unless it says so. */
  readonly testMsMax: number
}

/** Stops at the first test that fails, and gives up after `msMax`. */
export async function runTests(
  directory: string,
  files: readonly string[],
  { workers, msMax, testMsMax }: TestLimits,
): Promise<TestsEnd> {
  const reportFile = join(directory, "report.json")
  await rm(reportFile, { force: true })
  const child = spawn(
    process.execPath,
    [
      join(directory, "node_modules/vitest/vitest.mjs"),
      "run",
      "--project=all",
      "--project=cluster",
      "--project=sources",
      "--bail=1",
      `--testTimeout=${testMsMax}`,
      `--hookTimeout=${testMsMax}`,
      `--maxWorkers=${workers}`,
      "--reporter=json",
      `--outputFile=${reportFile}`,
      ...files,
    ],
    // A group of its own, so that the processes that the tests have started end with them.
    {
      cwd: directory,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, SLUICE_SHARED: shared, NO_COLOR: "1" },
    },
  )
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (output = (output + chunk.toString()).slice(-10_000)))
  }
  let hasHung = false
  const timer = setTimeout(() => {
    hasHung = true
    endGroup(child.pid)
  }, msMax)
  const [code] = (await once(child, "exit")) as [number | null]
  clearTimeout(timer)
  endGroup(child.pid)
  if (hasHung) return { kind: "hung" }
  if (code === 0) return { kind: "passed" }
  const failed = await firstFailed(reportFile)
  return failed === undefined ? { kind: "broken", output } : { kind: "failed", test: failed }
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL")
  } catch {
    // Nothing of it is left.
  }
}

async function firstFailed(reportFile: string): Promise<string | undefined> {
  try {
    const { testResults } = JSON.parse(await readFile(reportFile, "utf8")) as Report
    return testResults.flatMap(({ assertionResults }) => assertionResults).find(({ status }) => status === "failed")
      ?.fullName
  } catch {
    return undefined
  }
}
