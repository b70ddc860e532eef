/** `sluice rules`: manages and tests the rules of an app. */
import type { Client } from "@sluice/client"
import type { Mode, RuleProblem } from "@sluice/rules"
import { Option, type Command } from "commander"
import { clientCommand, connect, type ClientOptions } from "../connection/connection.ts"
import { Failure, WrongUsage } from "../process/failure.ts"
import { idOf, instantOption } from "./option-values.ts"
import { rulesFileCommands } from "./rules-sync.ts"
import { matchedPost } from "../terminal/rule-match.ts"
import { counted, printList } from "../terminal/table.ts"
import { messageText, printResult, type CommandContext, type Terminal } from "../terminal/terminal.ts"
import { terminalText } from "../terminal/terminal-text.ts"
import type { RuleTestListener, RuleTestSummary } from "../rules/test-rule.ts"

/** The rule language and the client take longer to load than `--help` may. */
const ruleProblems = () => import("../terminal/rule-problems.ts")
const ruleTests = () => import("../rules/test-rule.ts")
const client = () => import("@sluice/client")

/** The group's commands. */
export function rulesCommands(group: Command, context: CommandContext): void {
  const { terminal, environment } = context
  clientCommand(group, "add", "Add a rule")
    .argument("<value>", 'Rule, for example "cat has:images -is:retweet"')
    .option("--tag <tag>", "Tag of the rule, included in deliveries")
    .option(
      "--backfill <time>",
      "Also deliver the stored posts since this time that match, to --webhook",
      instantOption,
    )
    .option("--webhook <id>", "Linked webhook of a backfill")
    .option("--json", "Print the rule as JSON")
    .addHelpText("after", "\nIf the rule starts with a dash, put -- before it: sluice rules add -- '-is:retweet cat'")
    .action(async (value: string, options: ClientOptions & { tag?: string; backfill?: string; webhook?: string }) => {
      const { tag, backfill: since, webhook } = options
      if ((since === undefined) !== (webhook === undefined)) {
        throw new WrongUsage("A backfill needs both --backfill TIME and --webhook ID.")
      }
      const server = await connect(options, environment)
      const body = { add: [tag === undefined ? { value } : { value, tag }] }
      const { data, errors } = await server.request("POST", "rules", { body })
      const added = data?.[0]
      if (added === undefined) {
        const { reportedProblems, ruleDetails } = await ruleProblems()
        const details = ruleDetails(errors?.[0])
        if (details === undefined) throw await refused("The rule was not added", errors)
        throw await wrongRule("The rule was not added.", value, reportedProblems(value, details), terminal)
      }
      const text = `Added rule ${terminal.style.strong(messageText(added.id))}: ${messageText(added.value)}`
      await printResult(terminal, options.json, added, text)
      if (since === undefined || webhook === undefined) return
      const replay = await createBackfill(server, { webhook, since, ids: [added.id] })
      terminal.note(`Started backfill ${messageText(replay.job_id)}. To show its progress: sluice webhooks replays`)
    })

  clientCommand(group, "backfill", "Deliver stored posts that came before rules and match them")
    .argument("<id...>", "Ids of the rules, from `rules list`, at most 25")
    .requiredOption("--since <time>", "Posts from this time on: 2026-03-14T12:00Z", instantOption)
    .requiredOption("--webhook <id>", "Linked webhook to deliver to")
    .option("--json", "Print the backfill as JSON")
    .action(async (ids: string[], options: ClientOptions & { since: string; webhook: string }) => {
      const { since, webhook } = options
      const replay = await createBackfill(await connect(options, environment), { webhook, since, ids })
      if (options.json === true) return terminal.printJson(replay)
      await terminal.print(`Started backfill ${terminal.style.strong(messageText(replay.job_id))}.`)
      terminal.note("To show its progress: sluice webhooks replays")
    })

  clientCommand(group, "list", "List the rules, newest first")
    .option("--json", "Print the rules as a JSON array")
    .action(async (options: ClientOptions) => {
      const server = await connect(options, environment)
      const pages = await Array.fromAsync(server.pages("rules", { query: { max_results: 1000 } }))
      const rules = pages.flatMap(({ data = [] }) => data)
      await printList(terminal, options.json, rules, {
        none: "No rules yet. Add one: sluice rules add 'cat has:images' --tag cats",
        columns: { ID: ({ id }) => id, TAG: ({ tag = "" }) => tag, RULE: ({ value }) => value },
      })
    })

  clientCommand(group, "delete", "Delete rules")
    .argument("<id...>", "Ids of the rules, from `rules list`", idsOf)
    .option("--json", "Print the summary as JSON")
    .action(async (ids: readonly string[], options: ClientOptions) => {
      const server = await connect(options, environment)
      const { meta, errors } = await server.request("POST", "rules", { body: { delete: { ids: [...ids] } } })
      const { deleted = 0, not_deleted: notDeleted = 0 } = meta.summary
      if (options.json === true) await terminal.printJson(meta.summary)
      else await terminal.print(`Deleted ${counted(deleted, "rule")}.`)
      if (notDeleted > 0) throw await refused(`${counted(notDeleted, "rule")} could not be deleted`, errors)
    })

  rulesFileCommands(group, context)
  testCommand(group, context)
}

const ruleId = idOf("a rule")

/** The ids so far, of which the parser has none before the first. */
function idsOf(id: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), ruleId(id)]
}

async function createBackfill(
  server: Client,
  { webhook, since, ids }: { readonly webhook: string; readonly since: string; readonly ids: readonly string[] },
) {
  const body = { webhook_id: webhook, rule_ids: [...ids], since }
  const { data } = await server.request("POST", "replays", { body })
  return data
}

function testCommand(group: Command, { terminal, environment }: CommandContext): void {
  clientCommand(group, "test", "Show which posts a rule matches, and why; nothing is stored")
    .argument("<value>", "Rule to test")
    .option(
      "--file <file>",
      "Test on a file of posts, plain or gzip, or - for standard input, without a server (default: the server's newest 1,000 posts)",
    )
    .addOption(
      new Option("--since <time>", "Test on all of the server's posts from this time on: 2026-03-14T12:00Z")
        .argParser(instantOption)
        .conflicts("file"),
    )
    .addOption(
      new Option("--mode <mode>", "Rule of the stream, or of a search of stored posts")
        .choices(["stream", "search"])
        .default("stream"),
    )
    .option("--json", 'Print one line of JSON for each matching post: {"id","spans":[…]}')
    .addHelpText(
      "after",
      "\nWith --since, the newest 100 matching posts are shown.\n" +
        "A file is read twice, so that reposts match by places and links that any post of the file describes.\n" +
        "Rules with embedding: need a server with an embeddings endpoint; omit --file.",
    )
    .action(async (value: string, options: ClientOptions & { file?: string; since?: string; mode: Mode }) => {
      const { file, since, mode } = options
      const listener: RuleTestListener = {
        async print(match, postText) {
          if (options.json === true) return terminal.printJson(match)
          for (const line of matchedPost(match, postText, terminal)) await terminal.print(line)
        },
        skipped: (line, reason) => terminal.note(`line ${String(line)}: ${messageText(reason)}`),
        progressed: (tested, matched) => terminal.note(`${String(matched)} of ${counted(tested, "post")} so far`),
      }
      const { testOnFile, testOnServer } = await ruleTests()
      try {
        const summary =
          file === undefined
            ? await testOnServer(await connect(options, environment), value, { mode, since }, listener)
            : await testOnFile(value, mode, file, listener, terminal.stdin)
        noteSummary(value, summary, { terminal, of: file === undefined ? { since } : { file } })
      } catch (error) {
        const problems = await problemsOf(error, value, mode)
        if (problems === undefined) throw error
        const count = (await ruleProblems()).countProblems(problems)
        throw await wrongRule(`The rule has ${counted(count, "problem")}.`, value, problems, terminal)
      }
    })
}

/** The posts that a rule is tested on: those of a file, or of the server, since a time or the newest. */
type TestedPosts = { readonly file: string } | { readonly since: string | undefined }

/** Says why there was nothing to test the rule on. */
function noPosts(of: TestedPosts): string {
  if ("file" in of) return `${of.file === "-" ? "The input" : of.file} has no posts.`
  if (of.since !== undefined) return `The server has no posts since ${of.since}.`
  return "The server has no posts yet. Use --file, or send posts: sluice import posts.ndjson"
}

/** Prints the number of matching posts, and warnings. */
function noteSummary(
  value: string,
  summary: RuleTestSummary,
  { terminal, of }: { readonly terminal: Terminal; readonly of: TestedPosts },
): void {
  const { tested, matched, shown, matchesPerDay, cost, warnings } = summary
  if (tested === 0) {
    terminal.note(noPosts(of))
    return
  }
  const rate = matchesPerDay === undefined ? "" : `, about ${String(matchesPerDay)} per day`
  terminal.note(
    `${String(matched)} of ${counted(tested, "post")} match ${terminalText(value, 60)} ` +
      `(${percent(matched / tested)}${rate})`,
  )
  if (shown < matched) terminal.note(`Only the newest ${String(shown)} of them are shown.`)
  if (cost !== undefined) terminal.note(`The rule costs ${counted(cost, "step")} for a post that it is compared with.`)
  for (const { message } of warnings) terminal.note(`${terminal.noteStyle.mark("warning:")} ${messageText(message)}`)
}

/** A share in percent, with three digits. */
function percent(share: number): string {
  return `${String(Number((share * 100).toPrecision(3)))}%`
}

/** The problems of the rule, if the error is about them. */
async function problemsOf(error: unknown, value: string, mode: Mode): Promise<readonly RuleProblem[] | undefined> {
  const { reportedProblems, ruleDetails } = await ruleProblems()
  if (error instanceof (await ruleTests()).RuleRefused) return error.problems
  const { ApiError } = await client()
  const details = error instanceof ApiError ? ruleDetails(error.body) : undefined
  return details && reportedProblems(value, details, mode)
}

/** Indentation of hints, in columns. */
const hintIndent = 2

/** Widest line of a rule with carets under it. Ours. */
const frameColumnsMax = 100

async function wrongRule(
  what: string,
  value: string,
  problems: readonly RuleProblem[],
  { columns }: Pick<Terminal, "columns">,
): Promise<Failure> {
  const { problemLines } = await ruleProblems()
  return new Failure(what, problemLines(value, problems, Math.min(columns, frameColumnsMax) - hintIndent))
}

async function refused(what: string, errors: readonly unknown[] = []): Promise<Failure> {
  const { problemText } = await client()
  const causes = errors.flatMap((error) => {
    const problem = problemText({ errors: [error] })
    return problem === undefined || problem.details.length > 0 ? (problem?.details ?? []) : [problem.message]
  })
  return new Failure(`${what}.`, causes)
}
