/** `sluice links`: which webhooks the stream's matches are sent to. */
import type { Client, Operations } from "@sluice/client"
import { Argument, InvalidArgumentError, type Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { attemptText, type AttemptSent } from "../terminal/attempt-text.ts"
import { printList, shortInstant } from "../terminal/table.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"

type LinkDetail = Operations["linkDetails"]["GET"]["response"]["data"][number]

const noLinks = "No links yet. Add one: sluice links add WEBHOOK_ID"

/** The group's commands. */
export function linksCommands(group: Command, context: CommandContext): void {
  const { terminal, environment } = context
  withConnectionOptions(group.command("add"))
    .description("send the stream's matches to a webhook, from now on")
    .argument("<webhook_id>", "id of the webhook")
    .option("--fields <query>", 'what deliveries show, for example "expansions=author_id&user.fields=username"')
    .option("--json", "print the answer as JSON")
    .action(async (webhookId: string, options: ClientOptions & { fields?: string }) => {
      const client = await connect(options, environment)
      const { data } = await client.request("POST", "link", {
        parameters: { webhook_id: webhookId },
        query: options.fields,
      })
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(`Linked webhook ${messageText(webhookId)}: matches are sent to it from now on.`)
    })

  withConnectionOptions(group.command("list"))
    .description("list the links, newest first")
    .option("--json", "print the links as a JSON array")
    .action(async (options: ClientOptions) => {
      const client = await connect(options, environment)
      const found = await Array.fromAsync(client.pages("links", { query: { max_results: 100 } }))
      await printList(
        terminal,
        found.flatMap(({ data }) => data.links),
        {
          json: options.json === true,
          none: noLinks,
          columns: {
            WEBHOOK: ({ webhook_id: webhookId }) => webhookId,
            CREATED: ({ created_at: createdAt }) => shortInstant(createdAt),
            FIELDS: ({ fields }) => fields.join(" "),
          },
        },
      )
    })

  withConnectionOptions(group.command("delete"))
    .description("stop sending matches to a webhook")
    .argument("<webhook_id>", "id of the webhook")
    .option("--json", "print the answer as JSON")
    .action(async (webhookId: string, options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("DELETE", "link", { parameters: { webhook_id: webhookId } })
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(`Unlinked webhook ${messageText(webhookId)}.`)
    })

  progressCommands(group, context)

  withConnectionOptions(group.command("order"))
    .description("have matches sent strictly one after the other, or in any order, which is faster")
    .argument("<webhook_id>", "id of the webhook")
    .addArgument(new Argument("<order>", "how to send").choices(["strict", "any"]))
    .option("--json", "print the link's state as JSON")
    .action(async (webhookId: string, order: "strict" | "any", options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("PATCH", "linkDetail", {
        parameters: { webhook_id: webhookId },
        body: { ordered: order === "strict" },
      })
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(
        data.ordered
          ? `Matches go to webhook ${messageText(webhookId)} strictly in order: one that fails holds up the others.`
          : `Matches go to webhook ${messageText(webhookId)} in any order.`,
      )
    })
}

function progressCommands(group: Command, { terminal, environment }: CommandContext): void {
  withConnectionOptions(group.command("status"))
    .description("show how far each link's deliveries are")
    .option("--json", "print the states as a JSON array")
    .action(async (options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("GET", "linkDetails")
      const isTable = await printList(terminal, data, {
        json: options.json === true,
        none: noLinks,
        // The state is the widest and says most: position and sends in flight are in the JSON.
        columns: {
          WEBHOOK: (state) => state.webhook_id,
          BEHIND: (state) => String(state.lag),
          SENT: (state) => String(state.total.delivered),
          RETRIED: (state) => String(state.total.retrying),
          DEAD: (state) => String(state.total.dead_letters),
          MISSED: (state) => String(state.total.missed),
          STATE: stateText,
        },
      })
      if (isTable && data.some((state) => state.total.dead_letters > 0))
        terminal.note("See what was given up: sluice dead-letters list")
    })

  withConnectionOptions(group.command("attempts"))
    .description("show the newest attempts to deliver to a webhook, newest first")
    .argument("<webhook_id>", "id of the webhook")
    .option("--limit <number>", "how many, 1 to 1000", attemptLimit)
    .option("--payload", "with the request and the response of each; then 5 unless --limit says how many")
    .option("--json", "print the attempts as a JSON array")
    .action(async (webhookId: string, options: ClientOptions & { limit?: string; payload?: true }) => {
      const client = await connect(options, environment)
      if (options.payload === true) {
        await printPayloads(client, webhookId, options, terminal)
        return
      }
      const { data } = await client.request("GET", "attempts", {
        parameters: { webhook_id: webhookId },
        query: { max_results: options.limit },
      })
      await printList(terminal, data, {
        json: options.json === true,
        none: nothingSent,
        columns: {
          TIME: (attempt) => attempt.at,
          TOOK: (attempt) => `${String(attempt.duration_ms)} ms`,
          EVENT: (attempt) => attempt.event_id,
          OUTCOME: ({ fault, outcome }) => (fault === "server" ? `${outcome} (here)` : outcome),
          STATUS: ({ status = "" }) => String(status),
          ERROR: ({ error = "" }) => error,
        },
      })
    })
}

/** Attempts that are shown with their payloads, unless the user says how many: each may have a megabyte. */
const payloadsDefault = "5"

async function printPayloads(
  client: Client,
  webhookId: string,
  { limit = payloadsDefault, json }: { readonly limit?: string; readonly json?: true },
  terminal: CommandContext["terminal"],
): Promise<void> {
  const { data } = await client.request("GET", "attempts", {
    parameters: { webhook_id: webhookId },
    query: { max_results: limit },
  })
  const shown: AttemptSent[] = []
  for (const { id } of data) {
    const parameters = { webhook_id: webhookId, attempt_id: id }
    const { data: attempt } = await client.request("GET", "attempt", { parameters })
    if (json === true) shown.push(attempt)
    else await terminal.print(attemptText(attempt, terminal.style))
  }
  if (json === true) await terminal.printJson(shown)
  else if (data.length === 0) terminal.note(nothingSent)
}

const nothingSent = "Nothing was sent to it yet."

/** The number's text as it was given: the server reads it. */
function attemptLimit(text: string): string {
  if (/^[1-9]\d{0,2}$|^1000$/.test(text)) return text
  throw new InvalidArgumentError("A whole number from 1 to 1000.")
}

function stateText(state: LinkDetail): string {
  return state.ordered ? `in order, ${progressText(state)}` : progressText(state)
}

function progressText(state: LinkDetail): string {
  if (!state.valid) {
    const reason = state.invalid_reason === undefined ? "" : ` (the endpoint ${state.invalid_reason})`
    return `held: the webhook is not valid${reason}, see \`sluice webhooks validate\``
  }
  if (state.failing_since !== undefined) {
    const next = state.next_attempt_at === undefined ? "" : `, next attempt ${shortInstant(state.next_attempt_at)}`
    return `${state.down ? "down" : "failing"} since ${shortInstant(state.failing_since)}${next}`
  }
  if (state.down) return "down"
  return state.lag === 0 ? "up to date" : "delivering"
}
