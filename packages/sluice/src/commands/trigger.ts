/** `sluice trigger`: generates a post that matches a rule, and sends it. */
import type { Client } from "@sluice/client"
import type { Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { Failure } from "../process/failure.ts"
import { messageText, type CommandContext, type Terminal } from "../terminal/terminal.ts"
import type { AppRule, MadePost } from "../trigger/made-post.ts"

interface TriggerOptions extends ClientOptions {
  readonly text?: string
  readonly rule?: string
}

/** Most rules to read; X's largest limit is lower. Ours. */
const rulesMax = 25_000

/** Most rules to print; the others are counted. */
const namedMax = 5

/** The command's options and action. */
export function triggerCommand(command: Command, { terminal, environment }: CommandContext): void {
  withConnectionOptions(command)
    .option("--text <text>", "Text of the post (default: a generated text that matches a rule)")
    .option("--rule <id>", "Rule that the post must match (default: the newest for which a post can be generated)")
    .option("--json", "Print the post and its matching rules as JSON")
    .addHelpText("after", "\nThe post is matched against the app's rules before it is sent.")
    .action(async (options: TriggerOptions) => {
      const client = await connect(options, environment)
      const rules = await rulesOf(client)
      const made = await makePost(options, rules)
      const ingest = await connect(options, environment, "ingest")
      const { rejected } = await ingest.request("POST", "posts", { body: `${JSON.stringify(made.envelope)}\n` })
      const [refused] = rejected
      if (refused !== undefined) throw new Failure(`The post was rejected: ${refused.title}: ${refused.detail}`)
      await show(made, options.json === true, terminal)
    })
}

async function rulesOf(client: Client): Promise<readonly AppRule[]> {
  const rules: AppRule[] = []
  for await (const { data = [] } of client.pages("rules")) {
    rules.push(...data)
    if (rules.length >= rulesMax) break
  }
  return rules
}

async function makePost({ text, rule: id }: TriggerOptions, rules: readonly AppRule[]): Promise<MadePost> {
  // The rule language takes longer to load than `--help` may.
  const { postForRules, postWithText } = await import("../trigger/made-post.ts")
  const wanted = rules.find((rule) => rule.id === id)
  if (id !== undefined && wanted === undefined) {
    throw new Failure(`The app has no rule ${id}.`, ["To list its rules: sluice rules list"])
  }
  if (text !== undefined) return postWithText(text, wanted, rules)
  if (rules.length === 0) {
    throw new Failure("The app has no rules.", [
      "Add one: sluice rules add 'cat has:images' --tag cats",
      "or use your own text with --text.",
    ])
  }
  return postForRules(wanted === undefined ? rules : [wanted], rules)
}

async function show({ envelope, matching }: MadePost, isJson: boolean, terminal: Terminal): Promise<void> {
  if (isJson) return terminal.printJson({ post: envelope, matching_rules: matching })
  const { id, text } = envelope.data
  await terminal.print(`Sent post ${terminal.style.strong(id)}: ${messageText(text)}`)
  if (matching.length === 0)
    terminal.note("No rule of the app matches it, unless the server knows more about the post.")
  for (const rule of matching.slice(0, namedMax)) {
    terminal.note(`Matches rule ${rule.id}: ${messageText(rule.value)}`)
  }
  if (matching.length > namedMax) terminal.note(`… and ${String(matching.length - namedMax)} more rules`)
}
