/** `sluice trouble`: faults on demand of a development server. */
import type { Operations } from "@sluice/client"
import { Option, type Command } from "commander"
import { clientCommand, connect, type ClientOptions } from "../connection/connection.ts"
import { counted, printList, shortInstant } from "../terminal/table.ts"
import { messageText, printResult, type CommandContext } from "../terminal/terminal.ts"
import { duration, numberMatching } from "./option-values.ts"

type Trouble = Operations["troubles"]["GET"]["response"]["data"][number]
type TroubleRequest = Operations["troubles"]["POST"]["body"]

interface AddOptions extends ClientOptions {
  readonly next?: number
  readonly percent?: number
  readonly response?: string
  readonly latency?: number
  readonly retryAfter?: number
}

const wholeNumber = numberMatching(/^\d{1,6}$/, "a whole number")
const delay = duration("a time such as 500ms or 3s")

/** X's disconnect messages; `none` closes the connection without one. Source: X's OpenAPI document 2.159. */
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
  const endpointFault = (kind: string, description: string, what: string): Command =>
    clientCommand(group, kind, description)
      .argument("[webhook_id]", "Id of the webhook (default: all of the app)")
      .option("--next <number>", `Number of ${what} (default: 1)`, wholeNumber)
      .option("--percent <number>", `Percentage of all ${what}, until cleared`, wholeNumber)
      .option("--json", "Print the fault as JSON")
      .action((webhookId: string | undefined, options: AddOptions) => add(kind, webhookId, options))

  endpointFault("responses", "Replace the responses of endpoints to deliveries", "responses")
    .addOption(
      new Option(
        "--response <kind>",
        "429, 500 or 503 (without a request to the endpoint), slow or cut (with a request)",
      )
        .choices(["429", "500", "503", "slow", "cut"])
        .default("500"),
    )
    .option("--latency <time>", "Delay of a slow response, up to 10s, the timeout (default: 3s)", delay)
    .option("--retry-after <seconds>", "Retry-After of a 429 or 503", wholeNumber)

  endpointFault("repeats", "Send received deliveries a second time", "deliveries")

  const challengeResponse = new Option("--response <kind>", "Response to the challenge (default: wrong_token)")
  endpointFault(
    "challenges",
    "Fail challenges, including those of webhooks that are being added",
    "challenges",
  ).addOption(challengeResponse.choices(["wrong_token", "500", "503", "cut"]))

  clientCommand(group, "page-tokens", "Expire page tokens: all that were issued so far")
    .option("--next <number>", "Expire the next ones that are used instead", wholeNumber)
    .option("--json", "Print the fault as JSON")
    .action((options: AddOptions) => add("page_tokens", undefined, options))

  clientCommand(group, "disconnect", "End the stream connections of the app now")
    .addOption(
      new Option("--type <type>", "Disconnect message; none: close without one")
        .choices(disconnectTypes)
        .default("OperationalDisconnect"),
    )
    .option("--json", "Print the response as JSON")
    .action(async (options: ClientOptions & { type: string }) => {
      const { terminal, environment } = context
      const client = await connect(options, environment)
      const { data } = await client.request("POST", "troubleDisconnect", { body: { disconnect_type: options.type } })
      const text = `Disconnected ${counted(data.disconnected, "stream connection")}.`
      await printResult(terminal, options.json, data, text)
    })
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
    await terminal.print(`Fault ${terminal.style.strong(messageText(data.id))}: ${troubleText(data)}`)
    terminal.note("To list active faults: sluice trouble list")
  }
}

function listCommands(group: Command, { terminal, environment }: CommandContext): void {
  clientCommand(group, "list", "List the active faults, in the order in which they apply")
    .option("--json", "Print the faults as a JSON array")
    .action(async (options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("GET", "troubles")
      await printList(terminal, options.json, data, {
        none: "No active faults. Add one: sluice trouble responses --response 503 --next 3",
        columns: {
          ID: ({ id }) => id,
          WEBHOOK: ({ webhook_id: webhookId = "all" }) => webhookId,
          APPLIED: ({ applied }) => String(applied),
          FAULT: troubleText,
        },
      })
    })

  clientCommand(group, "clear", "Clear all faults, or some by id")
    .argument("[id...]", "Ids of the faults, from `trouble list`")
    .option("--json", "Print the response as JSON")
    .action(async (ids: readonly string[], options: ClientOptions) => {
      const client = await connect(options, environment)
      let cleared = 0
      for (const id of ids) {
        const { data } = await client.request("DELETE", "trouble", { parameters: { trouble_id: id } })
        cleared += data.cleared
      }
      if (ids.length === 0) cleared = (await client.request("DELETE", "troubles")).data.cleared
      await printResult(terminal, options.json, { cleared }, `Cleared ${counted(cleared, "fault")}.`)
    })
}

/** The fault and its extent, in one line. */
function troubleText(trouble: Trouble): string {
  const { kind, issued_until: issuedUntil } = trouble
  if (issuedUntil !== undefined) return `page tokens issued until ${shortInstant(issuedUntil)} are expired`
  switch (kind) {
    case "page_tokens":
      return `expired: ${extentText(trouble, "page token used", "page tokens used")}`
    case "repeats":
      return `sent twice: ${extentText(trouble, "delivery", "deliveries")}`
    case "challenges":
      return `${responseText(trouble)}: ${extentText(trouble, "challenge", "challenges")}`
    default:
      return `${responseText(trouble)}: ${extentText(trouble, "delivery", "deliveries")}`
  }
}

function extentText({ remaining = 1, percent }: Trouble, one: string, several: string): string {
  if (percent !== undefined) return `${String(percent)}% of the ${several}`
  return remaining === 1 ? `the next ${one}` : `the next ${String(remaining)} ${several}`
}

function responseText({ response = "", latency_ms: latencyMs, retry_after_seconds: retryAfterS }: Trouble): string {
  if (response === "slow") return `response after ${String(latencyMs)} ms`
  if (response === "cut") return "response lost"
  if (response === "wrong_token") return "response with a wrong token"
  const retryAfter = retryAfterS === undefined ? "" : `, Retry-After ${String(retryAfterS)} s`
  return `response ${response}${retryAfter}`
}
