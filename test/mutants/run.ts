/**
 * `npm run test:mutants [-- --only TEXT …] [-- --part K/N] [-- --jobs N]`: puts each fault of the list into a copy of
 * the program, one at a time, and runs the tests that should find it, on the embedded store if they work on every store.
 * A mutant is killed when one of them fails, or does not end.
 *
 *     copy ─► all named tests pass? ─► mutant in ─► its tests ─► mutant out ─► the next one
 *
 * `--only`, which may be given several times, takes those whose name or file holds the text; `--part` the K-th of N parts
 * of the list. Exit 0: every mutant was killed; 1: one survived, or the list does not fit the program; 2: wrong usage.
 */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { mutate, type Mutant } from "./mutant.ts"
import { mutants } from "./mutants.ts"
import { runTests, type TestsEnd } from "./run-tests.ts"
import { makeScratchCopy } from "./scratch-copy.ts"

/** Longest that the tests of a mutant may take, and each of them: mutants make many wait in vain. */
const mutantLimits = { workers: 1, msMax: 90_000, testMsMax: 15_000 }

/** Longest that the tests of all may take without a mutant, and each of them, on a machine that does other work too. */
const baselineLimits = { msMax: 600_000, testMsMax: 120_000 }

const options = readOptions()
if (options === undefined) {
  process.stderr.write("usage: npm run test:mutants -- [--only TEXT …] [--part K/N] [--jobs N]\n")
  process.exitCode = 2
} else {
  process.exitCode = (await killAll(options.chosen, options.jobs)) ? 0 : 1
}

function readOptions(): { chosen: readonly Mutant[]; jobs: number } | undefined {
  try {
    const { values } = parseArgs({
      options: { only: { type: "string", multiple: true }, part: { type: "string" }, jobs: { type: "string" } },
    })
    const { only = [""], part = "1/1", jobs = "2" } = values
    const [number = 0, parts = 0] = /^([1-9])\/([1-9])$/.exec(part)?.slice(1).map(Number) ?? []
    const isOnly = ({ name, file }: Mutant): boolean => only.some((text) => name.includes(text) || file.includes(text))
    const chosen = mutants.filter((mutant, index) => isOnly(mutant) && index % parts === number - 1)
    return chosen.length > 0 && /^[1-9]$/.test(jobs) ? { chosen, jobs: Number(jobs) } : undefined
  } catch {
    return undefined
  }
}

async function killAll(chosen: readonly Mutant[], jobs: number): Promise<boolean> {
  await using copies = new AsyncDisposableStack()
  const directories: string[] = []
  while (directories.length < jobs) directories.push(copies.use(await makeScratchCopy()).directory)
  const [first = ""] = directories
  const stale = await staleOnes(first, chosen)
  if (stale.length > 0) {
    say(`the list does not fit the program:\n${stale.join("\n")}`)
    return false
  }
  const files = [...new Set(chosen.flatMap(({ tests }) => tests))]
  say(`${files.length} test files, without a mutant …`)
  const baseline = await runTests(first, files, { workers: jobs, ...baselineLimits })
  if (baseline.kind !== "passed") {
    say(`they do not pass: ${inWords(baseline)}`)
    return false
  }
  const left = chosen.values()
  let killed = 0
  const work = async (directory: string): Promise<void> => {
    for (const mutant of left) {
      const startMs = performance.now()
      const end = await runWith(directory, mutant)
      const isKilled = end.kind === "failed" || end.kind === "hung"
      if (isKilled) killed += 1
      const tookS = ((performance.now() - startMs) / 1000).toFixed(1)
      say(`${isKilled ? "killed  " : "SURVIVED"}  ${mutant.name} (${inWords(end)}, ${tookS} s)`)
    }
  }
  await Promise.all(directories.map(work))
  say(`${killed} of ${chosen.length} mutants killed`)
  return killed === chosen.length
}

/** The faults, in words, of mutants that do not fit the program. */
async function staleOnes(directory: string, chosen: readonly Mutant[]): Promise<readonly string[]> {
  const faults: string[] = []
  for (const mutant of chosen) {
    try {
      mutate(await readFile(join(directory, mutant.file), "utf8"), mutant)
    } catch (error) {
      faults.push((error as Error).message)
    }
  }
  return faults
}

async function runWith(directory: string, mutant: Mutant): Promise<TestsEnd> {
  const file = join(directory, mutant.file)
  const source = await readFile(file, "utf8")
  await writeFile(file, mutate(source, mutant))
  try {
    return await runTests(directory, mutant.tests, mutantLimits)
  } finally {
    await writeFile(file, source)
  }
}

function inWords(end: TestsEnd): string {
  switch (end.kind) {
    case "passed":
      return "every test passed"
    case "failed":
      return `by "${end.test}"`
    case "hung":
      return "its tests did not end"
    case "broken":
      return `no test failed, but:\n${end.output}`
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
