/** The workflows run scripts that exist, and every long test runs in one of them. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, matchesGlob } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { parse } from "yaml"

const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), "utf8")
const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Readonly<Record<string, string>> }

interface Step {
  readonly uses?: string
  readonly run?: string
}

interface Job {
  readonly permissions?: object
  readonly "timeout-minutes"?: number | string
  readonly strategy?: { readonly matrix: { readonly include: readonly Matrix[] } }
  readonly steps: readonly Step[]
}

/** A job of a matrix: the long tests are named by their commands. */
interface Matrix {
  readonly name: string
  readonly minutes: number
  readonly run: string
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>
  readonly permissions?: object
  readonly concurrency?: unknown
  readonly jobs: Readonly<Record<string, Job>>
}

const directory = ".github/workflows"
const workflows = Object.fromEntries(
  readdirSync(join(root, directory)).map((file) => [file, parse(read(`${directory}/${file}`)) as Workflow]),
)

/** The scripts that test. */
const testScripts = new Set(Object.keys(scripts).filter((name) => /^test(?::|$)/.test(name)))

/** The shell commands of a workflow, with those of its matrices and of the programs of `.ci/` that it runs. */
function commandsOf({ jobs }: Workflow): readonly string[] {
  const own = Object.values(jobs).flatMap(({ steps, strategy }) => [
    ...steps.flatMap(({ run, uses }) => (run === undefined || uses !== undefined ? [] : [run])),
    ...(strategy?.matrix.include.map(({ run }) => run) ?? []),
  ])
  const programs = own.flatMap((run) => run.match(/\.ci\/\w+/g) ?? [])
  return [...own, ...programs.map(read)]
}

/** Names of the scripts that a text runs by npm, but for those in comments of a shell. */
function scriptsIn(text: string): readonly string[] {
  const code = text.replaceAll(/^\s*#.*$/gm, "")
  return [
    ...Array.from(code.matchAll(/npm run ([\w:-]+)/g), ([, name = ""]) => name),
    ...(/npm test\b/.test(code) ? ["test"] : []),
  ]
}

describe.each(Object.entries(workflows))("the workflow %s", (file, workflow) => {
  test("runs scripts and programs that exist", () => {
    const commands = commandsOf(workflow)
    const used = [read(`${directory}/${file}`), ...commands].flatMap(scriptsIn)
    expect(used.filter((name) => scripts[name] === undefined)).toEqual([])
    const programs = commands.flatMap((run) => run.match(/\.ci\/\w+/g) ?? [])
    expect(programs.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  test("bounds every job in time and permissions, and names the version of each action", () => {
    expect(workflow.permissions).toBeDefined()
    for (const { "timeout-minutes": minutes, steps } of Object.values(workflow.jobs)) {
      expect(minutes).toBeDefined()
      for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w-]+@v\d+$/)
    }
  })
})

test("every test that has a script of its own runs for a pull request or every night", () => {
  const run = ["pull-request.yml", "nightly.yml"].flatMap((file) => {
    const workflow = workflows[file]
    return workflow === undefined ? [] : commandsOf(workflow).flatMap(scriptsIn)
  })
  expect(testScripts.difference(new Set(run))).toEqual(new Set())
})

test("CONTRIBUTING.md names the scripts that exist, and every one that tests", () => {
  const named = new Set(scriptsIn(read("CONTRIBUTING.md")))
  expect([...named].filter((name) => scripts[name] === undefined)).toEqual([])
  expect(testScripts.difference(named)).toEqual(new Set())
})

test("pull requests run what CI runs, and the nightly tests can be started by hand", () => {
  expect(workflows["pull-request.yml"]?.on).toHaveProperty("pull_request")
  expect(Object.values(workflows["pull-request.yml"]?.jobs ?? {}).flatMap(({ steps }) => steps)).toContainEqual({
    run: ".ci/run",
  })
  expect(workflows["nightly.yml"]?.on).toMatchObject({ schedule: [{ cron: expect.any(String) }] })
  expect(workflows["nightly.yml"]?.on).toHaveProperty("workflow_dispatch")
})

/** The permissions of the jobs that have others than the workflow's. */
const permissionsOf = ({ jobs }: Workflow): Readonly<Record<string, object | undefined>> =>
  Object.fromEntries(Object.entries(jobs).map(([name, { permissions }]) => [name, permissions]))

test("a push to main publishes the site when a file has changed of which it is made", () => {
  const workflow = workflows["site.yml"] ?? expect.unreachable()
  const { branches, paths } = workflow.on["push"] as { readonly branches: unknown; readonly paths: readonly string[] }
  expect(branches).toEqual(["main"])
  const made = [
    "README.md",
    "CHANGELOG.md",
    "docs/rules.md",
    "docs/decisions/threads.md",
    "docs/console.png",
    "examples/README.md",
    "packages/client/README.md",
    "package-lock.json",
    "site/document.html",
    "site/src/main.tsx",
    "packages/rules/src/index.ts",
    "packages/console/src/styles/base.css",
  ]
  expect(made.filter((path) => !paths.some((pattern) => matchesGlob(path, pattern)))).toEqual([])
  const { devDependencies } = JSON.parse(read("site/package.json")) as { readonly devDependencies: object }
  const ours = Object.keys(devDependencies).flatMap((name) => /^@sluice\/(\w+)$/.exec(name)?.slice(1) ?? [])
  expect(paths).toEqual(expect.arrayContaining(ours.map((name) => `packages/${name}/**`)))
})

test("only the job that publishes the site may write its pages, and no change cuts off another's publication", () => {
  const workflow = workflows["site.yml"] ?? expect.unreachable()
  expect(workflow.permissions).toEqual({ contents: "read" })
  expect(permissionsOf(workflow)).toEqual({
    build: { contents: "read", pages: "read" },
    publish: { pages: "write", "id-token": "write" },
  })
  expect(workflow.concurrency).toBe("site")
  expect(workflow.jobs["publish"]?.steps.map(({ uses, run }) => uses ?? run)).toEqual(["actions/deploy-pages@v4"])
})

test("the parts of the mutants are the whole list", () => {
  const parts = commandsOf(workflows["nightly.yml"] ?? { on: {}, jobs: {} }).flatMap((run) =>
    Array.from(run.matchAll(/test:mutants -- --part (\d\/\d)/g), ([, part]) => part),
  )
  expect(parts).toEqual(parts.map((_, index) => `${index + 1}/${parts.length}`))
  expect(parts.length).toBeGreaterThan(1)
})
