/** `sluice rules`: the rules of an app's stream, and trying one out. */
import type { Mode, RuleProblem } from "@sluice/rules"
import { Option, type Command } from "commander"
import { ApiFault, faultText, jsonBody } from "../api-client.ts"
import { connect, withConnectionOptions, type ConnectionOptions } from "../connection.ts"
import type { Environment } from "../environment.ts"
import { Failure } from "../failure.ts"
import { pages, type PageMeta } from "../pages.ts"
import { matchedPost } from "../rule-match.ts"
import { countProblems, problemLines, problemsSaid, ruleDetails } from "../rule-problems.ts"
import { table } from "../table.ts"
import { messageText, type Terminal } from "../terminal.ts"
import { terminalText } from "../terminal-text.ts"
import {
  RuleRefused,
  testOnFile,
  testOnServer,
  type RuleTestListener,
  type RuleTestSummary,
} from "../test-rule.ts"

const path = "/2/tweets/search/stream/rules"

/** A rule as the server shows it. */
interface Rule {
  readonly id: string
  readonly value: string
  readonly tag?: string
}

interface RulesChanged {
  readonly data?: readonly Rule[]
  readonly meta: { readonly summary: Readonly<Record<string, number>> }
  readonly errors?: readonly unknown[]
}

interface RulesPage {
  readonly data?: readonly Rule[]
  readonly meta: PageMeta
}

interface JsonOption extends ConnectionOptions {
  readonly json?: true
}

/** Adds the group to the program. */
export function addRulesCommands(
  program: Command,
  deps: { terminal: Terminal; environment: Environment },
): void {
  const { terminal, environment } = deps
  const rules = program.command("rules").description("the rules that posts are matched against")

  withConnectionOptions(rules.command("add"))
    .description("add a rule")
    .argument("<value>", 'the rule, for example "cat has:images -is:retweet"')
    .option("--tag <tag>", "what deliveries call the rule")
    .option("--json", "print the rule as JSON")
    .addHelpText(
      "after",
      "\nA rule that begins with - goes after two dashes: sluice rules add -- '-is:retweet cat'",
    )
    .action(async (value: string, options: JsonOption & { tag?: string }) => {
      const client = await connect(options, environment)
      const { tag } = options
      const answer = await client.request<RulesChanged>("POST", path, {
        body: jsonBody({ add: [tag === undefined ? { value } : { value, tag }] }),
      })
      const added = answer.data?.[0]
      if (added === undefined) {
        const details = ruleDetails(answer.errors?.[0])
        if (details === undefined) throw refused("The rule was not added", answer.errors)
        throw wrongRule("The rule was not added.", value, problemsSaid(value, details), terminal)
      }
      if (options.json === true) return terminal.printJson(added)
      await terminal.print(
        `Added rule ${terminal.style.strong(messageText(added.id))}: ${messageText(added.value)}`,
      )
    })

  withConnectionOptions(rules.command("list"))
    .description("list the rules, newest first")
    .option("--json", "print the rules as a JSON array")
    .action(async (options: JsonOption) => {
      const client = await connect(options, environment)
      const found: Rule[] = []
      for await (const page of pages<RulesPage>(client, path, { max_results: "1000" }))
        found.push(...(page.data ?? []))
      if (options.json === true) return terminal.printJson(found)
      if (found.length === 0)
        return terminal.note("No rules yet. Add one: sluice rules add 'cat has:images' --tag cats")
      const rows = found.map(({ id, tag = "", value }) => [id, tag, value])
      for (const line of table(["ID", "TAG", "RULE"], rows, terminal.columns)) await terminal.print(line)
    })

  withConnectionOptions(rules.command("delete"))
    .description("delete rules by their ids")
    .argument("<id...>", "ids of the rules, as `rules list` shows them")
    .option("--json", "print the answer's summary as JSON")
    .action(async (ids: string[], options: JsonOption) => {
      const client = await connect(options, environment)
      const answer = await client.request<RulesChanged>("POST", path, { body: jsonBody({ delete: { ids } }) })
      const { summary } = answer.meta
      if (options.json === true) await terminal.printJson(summary)
      else await terminal.print(`Deleted ${counted(summary["deleted"] ?? 0, "rule")}.`)
      if ((summary["not_deleted"] ?? 0) > 0) {
        throw refused(`${counted(summary["not_deleted"] ?? 0, "rule")} could not be deleted`, answer.errors)
      }
    })

  withConnectionOptions(rules.command("test"))
    .description("show which posts a rule matches, and why; nothing is stored")
    .argument("<value>", "the rule")
    .option(
      "--file <file>",
      "posts to try it on, NDJSON, plain or gzip, - for standard input, without a server; else its newest 1,000",
    )
    .addOption(
      new Option("--mode <mode>", "what the rule is for: the stream, or a search of stored posts")
        .choices(["stream", "search"])
        .default("stream"),
    )
    .option("--json", 'print a line of JSON for each matching post: {"id","spans":[…]}')
    .addHelpText(
      "after",
      "\nA file is read twice, so that a repost is found by what any of its posts tells of places and links.\n" +
        "embedding: needs a server that has an endpoint for it: leave --file out.",
    )
    .action(async (value: string, options: JsonOption & { file?: string; mode: Mode }) => {
      const { file, mode } = options
      const listener: RuleTestListener = {
        async print(match, postText) {
          if (options.json === true) return terminal.printJson(match)
          for (const line of matchedPost(match, postText, terminal)) await terminal.print(line)
        },
        skipped: (line, reason) => terminal.note(`line ${String(line)}: ${messageText(reason)}`),
      }
      try {
        const summary =
          file === undefined
            ? await testOnServer(await connect(options, environment), value, mode, listener)
            : await testOnFile(value, mode, file, listener)
        tellSummary(value, summary, terminal)
      } catch (error) {
        const problems = problemsOf(error, value, mode)
        if (problems === undefined) throw error
        const count = countProblems(problems)
        throw wrongRule(`The rule has ${counted(count, "problem")}.`, value, problems, terminal)
      }
    })
}

/** How many posts match, and what the rule's author should know. */
function tellSummary(value: string, summary: RuleTestSummary, terminal: Terminal): void {
  const { tested, matched, matchesPerDay, warnings } = summary
  if (tested === 0) {
    terminal.note(
      "There are no posts to test on yet. Name some with --file, or pour some in: sluice import posts.ndjson",
    )
    return
  }
  const rate = matchesPerDay === undefined ? "" : `, about ${String(matchesPerDay)} a day`
  terminal.note(
    `${String(matched)} of ${counted(tested, "post")} match ${terminalText(value, 60)} ` +
      `(${percent(matched / tested)}${rate})`,
  )
  for (const { message } of warnings)
    terminal.note(`${terminal.noteStyle.mark("warning:")} ${messageText(message)}`)
}

/** A share in percent, in three digits. */
function percent(share: number): string {
  return `${String(Number((share * 100).toPrecision(3)))} %`
}

/** What is wrong with the rule, when that is what the error says. */
function problemsOf(error: unknown, value: string, mode: Mode): readonly RuleProblem[] | undefined {
  if (error instanceof RuleRefused) return error.problems
  const details = error instanceof ApiFault ? ruleDetails(error.body) : undefined
  return details && problemsSaid(value, details, mode)
}

/** Hints stand two columns in. */
const hintIndent = 2

function wrongRule(
  what: string,
  value: string,
  problems: readonly RuleProblem[],
  { columns }: Pick<Terminal, "columns">,
): Failure {
  return new Failure(what, problemLines(value, problems, columns - hintIndent))
}

function refused(what: string, errors: readonly unknown[] = []): Failure {
  const causes = errors.flatMap((error) => {
    const said = faultText({ errors: [error] })
    return said === undefined ? [] : said.causes.length > 0 ? said.causes : [said.message]
  })
  return new Failure(`${what}.`, causes)
}

/** A number and its noun. */
function counted(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? "" : "s"}`
}
