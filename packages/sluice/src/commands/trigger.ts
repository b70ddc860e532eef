/** `sluice trigger`: a post that matches, made and sent. */
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

/** Most rules of an app that are looked at. X's largest number of rules is below. Ours. */
const rulesMax = 25_000

/** Rules that are named one by one; the others are counted. */
const namedMax = 5

/** The command's options and action. */
export function triggerCommand(command: Command, { terminal, environment }: CommandContext): void {
  withConnectionOptions(command)
    .option("--text <text>", "the post's text; else one is made that a rule matches")
    .option("--rule <id>", "the rule that the post is to match; else the newest for which a post can be made")
    .option("--json", "print what was sent, and the rules that match it, as JSON")
    .addHelpText("after", "\nThe post is compared with the app's rules before it is sent.")
    .action(async (options: TriggerOptions) => {
      const client = await connect(options, environment)
      const rules = await rulesOf(client)
      const made = await makePost(options, rules)
      const ingest = await connect(options, environment, "ingest")
      const { rejected } = await ingest.request("POST", "posts", { body: `${JSON.stringify(made.envelope)}\n` })
      const [refused] = rejected
      if (refused !== undefined) throw new Failure(`The post was not taken: ${refused.title}: ${refused.detail}`)
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
    throw new Failure(`The app has no rule ${id}.`, ["See its rules: sluice rules list"])
  }
  if (text !== undefined) return postWithText(text, wanted, rules)
  if (rules.length === 0) {
    throw new Failure("The app has no rules, so no post matches.", [
      "Add one: sluice rules add 'cat has:images' --tag cats",
      "or give a text of your own with --text.",
    ])
  }
  return postForRules(wanted === undefined ? rules : [wanted], rules)
}

async function show({ envelope, matching }: MadePost, isJson: boolean, terminal: Terminal): Promise<void> {
  if (isJson) return terminal.printJson({ post: envelope, matching_rules: matching })
  const { id, text } = envelope.data
  await terminal.print(`Sent post ${terminal.style.strong(id)}: ${messageText(text)}`)
  if (matching.length === 0) terminal.note("No rule of the app matches it, as far as can be seen here.")
  for (const rule of matching.slice(0, namedMax)) {
    terminal.note(`Matches rule ${rule.id}: ${messageText(rule.value)}`)
  }
  if (matching.length > namedMax) terminal.note(`… and ${String(matching.length - namedMax)} more rules`)
}
