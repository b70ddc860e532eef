/** `sluice rules export` and `sluice rules sync`: the rules of an app as a file. */
import type { Client, RuleDifference } from "@sluice/client"
import { Option, type Command } from "commander"
import { clientCommand, connect, type ClientOptions, type ConnectionOptions } from "../connection/connection.ts"
import { Failure } from "../process/failure.ts"
import { interruption } from "../process/interruption.ts"
import { readInputText } from "../process/input-text.ts"
import type { FiledRule } from "../rules/rules-file.ts"
import { neverMatchingText } from "../terminal/never-matching-text.ts"
import { counted } from "../terminal/table.ts"
import { messageText, type CommandContext, type Terminal } from "../terminal/terminal.ts"
import { terminalText, textWidth } from "../terminal/terminal-text.ts"

/** The file's format and the rule language take longer to load than `--help` may. */
const rulesFiles = () => import("../rules/rules-file.ts")
const ruleProblems = () => import("../terminal/rule-problems.ts")

interface SyncOptions extends ClientOptions {
  readonly dryRun?: true
  readonly allowEmpty?: true
  readonly tag?: string
}

/** The commands, in the group of `sluice rules`. */
export function rulesFileCommands(group: Command, { terminal, environment }: CommandContext): void {
  clientCommand(group, "export", "Print all rules in the format of `rules sync`, ordered by value")
    .addOption(new Option("--format <format>", "Format of the file").choices(["yaml", "json"]).default("yaml"))
    .action(async (options: ConnectionOptions & { format: "yaml" | "json" }) => {
      const server = await connect(options, environment)
      const pages = await Array.fromAsync(server.pages("rules", { query: { max_results: 1000 } }))
      const rules = pages.flatMap(({ data = [] }) => data)
      const { rulesText } = await rulesFiles()
      const ordered = rules.toSorted((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0))
      await terminal.print(rulesText(ordered, options.format))
    })

  clientCommand(group, "sync", "Make the rules equal to those of a file: adds, deletes and retags rules")
    .argument("<file>", "YAML or JSON file in the format of `rules export`; - for standard input")
    .option("--tag <tag>", "Change only rules with this tag, which the rules of the file get")
    .option("--dry-run", "Print the changes without making them")
    .option("--allow-empty", "Accept an empty file, which deletes all rules")
    .option("--json", "Print the changes as JSON")
    .addHelpText(
      "after",
      `
A file is a list of rules, each a value and a tag:
  - value: cat has:images
    tag: cats
All new rules are validated before anything is changed. A rule whose tag changes is deleted and added again; it does not
match in between.`,
    )
    .action(async (path: string, options: SyncOptions) => {
      const { readRulesFile, rulesFileBytesMax } = await rulesFiles()
      const name = path === "-" ? "Standard input" : path
      const rules = readRulesFile(await readInputText(path, terminal.stdin, rulesFileBytesMax), name)
      if (rules.length === 0 && options.allowEmpty !== true) {
        const those = options.tag === undefined ? "all rules of the app" : `all rules with the tag ${options.tag}`
        throw new Failure(`${name} has no rules: ${those} would be deleted.`, [
          "If that is intended, use --allow-empty.",
        ])
      }
      const other = rules.find(({ tag }) => options.tag !== undefined && (tag ?? options.tag) !== options.tag)
      if (other !== undefined) {
        throw new Failure(`${name}, line ${String(other.line)}: the rule has the tag ${String(other.tag)}.`, [
          `With --tag ${String(options.tag)} all rules of the file get that tag: leave the others out.`,
        ])
      }
      await sync(await connect(options, environment), rules, options, terminal)
    })
}

async function sync(
  server: Client,
  rules: readonly FiledRule[],
  { dryRun = false, json = false, tag }: { readonly dryRun?: boolean; readonly json?: boolean; readonly tag?: string },
  terminal: Terminal,
): Promise<void> {
  const signal = interruption()
  const planned = await server.rules
    .sync(rules, { dryRun: true, tag, signal })
    .catch(async (error: unknown) => Promise.reject(await refused(error, rules, terminal)))
  if (!json) for (const line of differenceLines(planned, terminal)) await terminal.print(line)
  if (dryRun || planned.added.length + planned.deleted.length === 0) {
    await printDone(planned, { dryRun, json }, terminal)
    return noteNeverMatching(await clausesOfTests(server, planned), terminal)
  }
  const done = await server.rules
    .sync(rules, { tag, signal })
    .catch(async (error: unknown) => Promise.reject(await stopped(error)))
  await printDone(done, { dryRun, json }, terminal)
  await noteNeverMatching(await clausesOfRules(server, done), terminal)
}

/** Most clauses that are named, and most rules of a dry run that are tested for them. Ours. */
const neverMatchingMax = 20

type NeverMatching = Parameters<typeof neverMatchingText>[0]

/** The clauses of new rules that no post of the server's sources fulfils. */
async function clausesOfRules(server: Client, { added }: RuleDifference): Promise<readonly NeverMatching[]> {
  const values = new Set(added.map(({ value }) => value))
  if (values.size === 0) return []
  const pages = await Array.fromAsync(server.pages("ruleDetails", { query: { max_results: 1000 } }))
  return pages
    .flatMap(({ data }) => data.filter(({ value }) => values.has(value)))
    .flatMap(({ never_matching: never = [] }) => never)
}

/** The same of rules that are not added: of the first ones, by a test on a post. */
async function clausesOfTests(server: Client, { added }: RuleDifference): Promise<readonly NeverMatching[]> {
  const clauses: NeverMatching[] = []
  for (const { value } of added.slice(0, neverMatchingMax)) {
    const { never_matching: never = [] } = await server.rules.test({ value, posts: [anyPost] })
    clauses.push(...never)
  }
  return clauses
}

const anyPost = { data: { id: "1", text: "any" } }

async function noteNeverMatching(clauses: readonly NeverMatching[], terminal: Terminal): Promise<void> {
  for (const clause of clauses.slice(0, neverMatchingMax)) {
    terminal.note(`${terminal.noteStyle.mark("warning:")} ${messageText(neverMatchingText(clause))}`)
  }
  const more = clauses.length - neverMatchingMax
  if (more > 0) terminal.note(`And ${counted(more, "more clause")}.`)
}

interface TagChange {
  readonly value: string
  readonly tag: string | undefined
  readonly previousTag: string | undefined
}

/** The difference, with changes of tags apart: the server deletes and adds such a rule. */
function changesOf({ added, deleted }: RuleDifference) {
  const before = new Map(deleted.map((rule) => [rule.value, rule]))
  const after = new Set(added.map(({ value }) => value))
  const tagged = added.flatMap(({ value, tag }): readonly TagChange[] => {
    const rule = before.get(value)
    return rule === undefined ? [] : [{ value, tag, previousTag: rule.tag }]
  })
  return {
    added: added.filter(({ value }) => !before.has(value)),
    deleted: deleted.filter(({ value }) => !after.has(value)),
    tagged,
  }
}

function differenceLines(difference: RuleDifference, { style, columns }: Terminal): readonly string[] {
  const { added, deleted, tagged } = changesOf(difference)
  const line = (sign: string, paint: (text: string) => string, value: string, tag: string): string => {
    const shownTag = tag === "" ? "" : `  (${terminalText(tag, columns / 2)})`
    return `${paint(`${sign} ${terminalText(value, columns - textWidth(shownTag) - 2)}`)}${style.faint(shownTag)}`
  }
  return [
    ...deleted.map(({ value, tag = "" }) => line("-", style.bad, value, tag)),
    ...tagged.map(({ value, tag, previousTag }) =>
      line("~", style.mark, value, `${previousTag ?? "no tag"} → ${tag ?? "no tag"}`),
    ),
    ...added.map(({ value, tag = "" }) => line("+", style.good, value, tag)),
  ]
}

async function printDone(
  difference: RuleDifference,
  { dryRun, json }: { readonly dryRun: boolean; readonly json: boolean },
  terminal: Terminal,
): Promise<void> {
  const { added, deleted, tagged } = changesOf(difference)
  const { unchanged } = difference
  if (json) {
    return terminal.printJson({
      dry_run: dryRun,
      added: added.map(({ id, value, tag }) => ({ id, value, tag })),
      deleted: deleted.map(({ id, value, tag }) => ({ id, value, tag })),
      tagged: tagged.map(({ value, tag, previousTag }) => ({ value, tag, previous_tag: previousTag })),
      unchanged,
    })
  }
  const counts = [
    `${String(added.length)} added`,
    `${String(deleted.length)} deleted`,
    `${String(tagged.length)} retagged`,
    `${String(unchanged)} unchanged`,
  ]
  await terminal.print(`${dryRun ? "Dry run, nothing changed: " : ""}${counts.join(", ")}.`)
}

/** Most invalid rules to print. Ours. */
const wrongShownMax = 20

/** Widest line of a rule with carets under it. Ours: as with `rules add`. */
const frameColumnsMax = 100

/** The failure of a plan: problems that the server reports, and problems of rules that it did not validate. */
async function refused(error: unknown, rules: readonly FiledRule[], { columns }: Terminal): Promise<unknown> {
  const { RuleSyncError } = await import("@sluice/client")
  if (!(error instanceof RuleSyncError)) return error
  const { problemLines, reportedProblems, ruleDetails, ownProblems } = await ruleProblems()
  const reported = new Map(error.errors.map((entry) => [entry["value"], ruleDetails(entry)]))
  const wrong = rules.flatMap(({ value, line }) => {
    const details = reported.get(value)
    const problems = details === undefined ? ownProblems(value) : reportedProblems(value, details)
    return problems.length === 0 ? [] : [{ value, line, problems }]
  })
  if (wrong.length === 0) return error
  const width = Math.min(columns, frameColumnsMax) - 2
  const hints = wrong
    .slice(0, wrongShownMax)
    .flatMap(({ value, line, problems }) => ["", `line ${String(line)}:`, ...problemLines(value, problems, width)])
  const more = wrong.length > wrongShownMax ? ["", `… and ${String(wrong.length - wrongShownMax)} more.`] : []
  const count = wrong.length === 1 ? "1 rule is invalid" : `${String(wrong.length)} rules are invalid`
  return new Failure(`${count}; nothing was changed.`, [...hints.slice(1), ...more], { cause: error })
}

/** The failure of a partial change. */
async function stopped(error: unknown): Promise<unknown> {
  const { RuleSyncError } = await import("@sluice/client")
  if (!(error instanceof RuleSyncError)) return error
  const { added, deleted } = error.done
  return new Failure(error.message, [
    ...error.details.map(messageText),
    `${String(deleted.length)} rules were deleted and ${String(added.length)} added before. Run the command again to continue.`,
  ])
}
