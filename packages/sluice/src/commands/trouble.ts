/** `sluice trouble`: what a server for development does wrong when it is asked to. */
import type { Operations } from "@sluice/client"
import { InvalidArgumentError, Option, type Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { printList, shortInstant } from "../terminal/table.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"

type Trouble = Operations["troubles"]["GET"]["response"]["data"][number]
type TroubleRequest = Operations["troubles"]["POST"]["body"]

interface AddOptions extends ClientOptions {
  readonly next?: number
  readonly percent?: number
  readonly response?: string
  readonly latency?: number
  readonly retryAfter?: number
}

/** Why X ends a stream connection; none: it is cut without a message. Source: X's OpenAPI document 2.159. */
const disconnectTypes = [
  "OperationalDisconnect",
  "UpstreamOperationalDisconnect",
  "ForceDisconnect",
  "UpstreamUncleanDisconnect",
  "SlowReader",
  "InternalError",
  "ClientApplicationStateDegraded",
  "InvalidRules",
  "none",
]

/** The group's commands. */
export function troubleCommands(group: Command, context: CommandContext): void {
  addCommands(group, context)
  listCommands(group, context)
}

function addCommands(group: Command, context: CommandContext): void {
  const add = adding(context)
  counted(withConnectionOptions(group.command("responses")), "responses")
    .description("deliveries get another response than the endpoint's")
    .argument("[webhook_id]", "the webhook; else all of the app")
    .addOption(
      new Option("--response <kind>", "429, 500, 503 (the endpoint is not asked), slow or cut (it is)")
        .choices(["429", "500", "503", "slow", "cut"])
        .default("500"),
    )
    .option("--latency <time>", "of a slow response, up to 10s, which is a timeout (else 3s)", durationMs)
    .option("--retry-after <seconds>", "the Retry-After of a 429 or 503", wholeNumber)
    .action((webhookId: string | undefined, options: AddOptions) => add("responses", webhookId, options))

  counted(withConnectionOptions(group.command("repeats")), "deliveries")
    .description("deliveries that were received are sent a second time")
    .argument("[webhook_id]", "the webhook; else all of the app")
    .action((webhookId: string | undefined, options: AddOptions) => add("repeats", webhookId, options))

  counted(withConnectionOptions(group.command("challenges")), "challenges")
    .description("challenges fail, also that of a webhook that is being added")
    .argument("[webhook_id]", "the webhook; else all of the app")
    .addOption(
      new Option("--response <kind>", "what the challenge gets (else wrong_token)").choices([
        "wrong_token",
        "500",
        "503",
        "cut",
      ]),
    )
    .action((webhookId: string | undefined, options: AddOptions) => add("challenges", webhookId, options))

  withConnectionOptions(group.command("page-tokens"))
    .description("page tokens count as expired: all that were issued so far")
    .option("--next <number>", "the next ones that are used instead, whenever they were issued", wholeNumber)
    .option("--json", "print the trouble as JSON")
    .action((options: AddOptions) => add("page_tokens", undefined, options))

  withConnectionOptions(group.command("disconnect"))
    .description("end the app's stream connections now")
    .addOption(
      new Option("--type <type>", "the disconnect message that they get; none: cut without one")
        .choices(disconnectTypes)
        .default("OperationalDisconnect"),
    )
    .option("--json", "print the answer as JSON")
    .action(async (options: ClientOptions & { type: string }) => {
      const { terminal, environment } = context
      const client = await connect(options, environment)
      const { data } = await client.request("POST", "troubleDisconnect", { body: { disconnect_type: options.type } })
      if (options.json === true) return terminal.printJson(data)
      const { disconnected: count } = data
      await terminal.print(`Disconnected ${String(count)} stream ${count === 1 ? "connection" : "connections"}.`)
    })
}

function counted(command: Command, what: string): Command {
  return command
    .option("--next <number>", `for so many ${what} (else 1)`, wholeNumber)
    .option("--percent <number>", `for this share of all ${what}, until it is cleared`, wholeNumber)
    .option("--json", "print the trouble as JSON")
}

function adding({ terminal, environment }: CommandContext) {
  return async (kind: string, webhookId: string | undefined, options: AddOptions): Promise<void> => {
    const { next, percent, response, latency, retryAfter } = options
    const client = await connect(options, environment)
    const body: TroubleRequest = {
      kind,
      ...(webhookId !== undefined && { webhook_id: webhookId }),
      ...(response !== undefined && { response }),
      ...(latency !== undefined && { latency_ms: latency }),
      ...(retryAfter !== undefined && { retry_after_seconds: retryAfter }),
      ...(next !== undefined && { next }),
      ...(percent !== undefined && { percent }),
    }
    const { data } = await client.request("POST", "troubles", { body })
    if (options.json === true) return terminal.printJson(data)
    await terminal.print(`Trouble ${terminal.style.strong(messageText(data.id))}: ${troubleText(data)}`)
    terminal.note("See what remains: sluice trouble list")
  }
}

function listCommands(group: Command, { terminal, environment }: CommandContext): void {
  withConnectionOptions(group.command("list"))
    .description("list the troubles that wait for their time, in the order in which they are applied")
    .option("--json", "print the troubles as a JSON array")
    .action(async (options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("GET", "troubles")
      await printList(terminal, data, {
        json: options.json === true,
        none: "No trouble waits. Ask for some: sluice trouble responses --response 503 --next 3",
        columns: {
          ID: ({ id }) => id,
          WEBHOOK: ({ webhook_id: webhookId = "all" }) => webhookId,
          APPLIED: ({ applied }) => String(applied),
          TROUBLE: troubleText,
        },
      })
    })

  withConnectionOptions(group.command("clear"))
    .description("clear troubles, all or by their ids")
    .argument("[id...]", "ids of the troubles, as `trouble list` shows them")
    .option("--json", "print the answer as JSON")
    .action(async (ids: readonly string[], options: ClientOptions) => {
      const client = await connect(options, environment)
      let cleared = 0
      for (const id of ids) {
        const { data } = await client.request("DELETE", "trouble", { parameters: { trouble_id: id } })
        cleared += data.cleared
      }
      if (ids.length === 0) cleared = (await client.request("DELETE", "troubles")).data.cleared
      if (options.json === true) await terminal.printJson({ cleared })
      else await terminal.print(`Cleared ${String(cleared)} ${cleared === 1 ? "trouble" : "troubles"}.`)
    })
}

/** What goes wrong, and for how long, in a line. */
function troubleText(trouble: Trouble): string {
  const { kind, issued_until: issuedUntil } = trouble
  if (issuedUntil !== undefined) return `expired: page tokens issued until ${shortInstant(issuedUntil)}`
  switch (kind) {
    case "page_tokens":
      return `expired: ${extentText(trouble, "page token that is used", "page tokens that are used")}`
    case "repeats":
      return `sent twice: ${extentText(trouble, "delivery", "deliveries")}`
    case "challenges":
      return `${responseText(trouble)}: ${extentText(trouble, "challenge", "challenges")}`
    default:
      return `${responseText(trouble)}: ${extentText(trouble, "delivery", "deliveries")}`
  }
}

function extentText({ remaining = 1, percent }: Trouble, one: string, several: string): string {
  if (percent !== undefined) return `${String(percent)} % of the ${several}`
  return remaining === 1 ? `the next ${one}` : `the next ${String(remaining)} ${several}`
}

function responseText({ response = "", latency_ms: latencyMs, retry_after_seconds: retryAfterS }: Trouble): string {
  if (response === "slow") return `answered after ${String(latencyMs)} ms`
  if (response === "cut") return "answer lost"
  if (response === "wrong_token") return "answered with a wrong token"
  const retryAfter = retryAfterS === undefined ? "" : ` and Retry-After: ${String(retryAfterS)}`
  return `answered with ${response}${retryAfter}`
}

function wholeNumber(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new InvalidArgumentError("A whole number is expected.")
}

function durationMs(text: string): number {
  const [, amount, unit] = /^(\d{1,5}(?:\.\d{1,3})?)(ms|s)$/.exec(text) ?? []
  if (amount === undefined) throw new InvalidArgumentError("A time such as 500ms or 3s is expected.")
  return Math.round(Number(amount) * (unit === "s" ? 1_000 : 1))
}
