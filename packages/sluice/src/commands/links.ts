/** `sluice links`: links between the stream and webhooks, and their deliveries. */
import type { Client, Operations } from "@sluice/client"
import { Argument, type Command } from "commander"
import { clientCommand, connect, type ClientOptions } from "../connection/connection.ts"
import { attemptText, type AttemptSent } from "../terminal/attempt-text.ts"
import { printList, shortInstant } from "../terminal/table.ts"
import { messageText, printResult, type CommandContext } from "../terminal/terminal.ts"
import { matching } from "./option-values.ts"

type LinkDetail = Operations["linkDetails"]["GET"]["response"]["data"][number]

const attemptLimit = matching(/^[1-9]\d{0,2}$|^1000$/, "a whole number from 1 to 1000")

const noLinks = "No links yet. Add one: sluice links add WEBHOOK_ID"

/** The group's commands. */
export function linksCommands(group: Command, context: CommandContext): void {
  const { terminal, environment } = context
  clientCommand(group, "add", "Link the stream to a webhook: every match is delivered from now on")
    .argument("<webhook_id>", "Id of the webhook")
    .option("--fields <query>", 'Fields to deliver, for example "expansions=author_id&user.fields=username"')
    .option("--json", "Print the response as JSON")
    .action(async (webhookId: string, options: ClientOptions & { fields?: string }) => {
      const client = await connect(options, environment)
      const { data } = await client.request("POST", "link", {
        parameters: { webhook_id: webhookId },
        query: options.fields,
      })
      const text = `Linked webhook ${messageText(webhookId)}: matches are delivered from now on.`
      await printResult(terminal, options.json, data, text)
    })

  clientCommand(group, "list", "List the links, newest first")
    .option("--json", "Print the links as a JSON array")
    .action(async (options: ClientOptions) => {
      const client = await connect(options, environment)
      const pages = await Array.fromAsync(client.pages("links", { query: { max_results: 100 } }))
      const links = pages.flatMap(({ data }) => data.links)
      await printList(terminal, options.json, links, {
        none: noLinks,
        columns: {
          WEBHOOK: ({ webhook_id: webhookId }) => webhookId,
          CREATED: ({ created_at: createdAt }) => shortInstant(createdAt),
          FIELDS: ({ fields }) => fields.join(" "),
        },
      })
    })

  clientCommand(group, "delete", "Unlink a webhook: deliveries stop")
    .argument("<webhook_id>", "Id of the webhook")
    .option("--json", "Print the response as JSON")
    .action(async (webhookId: string, options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("DELETE", "link", { parameters: { webhook_id: webhookId } })
      await printResult(terminal, options.json, data, `Unlinked webhook ${messageText(webhookId)}.`)
    })

  progressCommands(group, context)

  clientCommand(group, "pause", "Pause a link: nothing is sent, and matches wait until it is resumed")
    .argument("<webhook_id>", "Id of the webhook")
    .option("--json", "Print the link's state as JSON")
    .action(async (webhookId: string, options: ClientOptions) => {
      const data = await setPaused(await connect(options, environment), webhookId, true)
      const id = messageText(webhookId)
      const text = `Paused webhook ${id}: matches wait. To deliver them: sluice links resume ${id}`
      await printResult(terminal, options.json, data, text)
    })

  clientCommand(group, "resume", "Resume a paused link: everything that waits is delivered")
    .argument("<webhook_id>", "Id of the webhook")
    .option("--json", "Print the link's state as JSON")
    .action(async (webhookId: string, options: ClientOptions) => {
      const data = await setPaused(await connect(options, environment), webhookId, false)
      await printResult(
        terminal,
        options.json,
        data,
        `Resumed webhook ${messageText(webhookId)}: what waited is delivered.`,
      )
    })

  clientCommand(group, "order", "Set the order of deliveries: strict, one at a time; or any, which is faster")
    .argument("<webhook_id>", "Id of the webhook")
    .addArgument(new Argument("<order>", "Order of deliveries").choices(["strict", "any"]))
    .option("--json", "Print the link's state as JSON")
    .action(async (webhookId: string, order: "strict" | "any", options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("PATCH", "linkDetail", {
        parameters: { webhook_id: webhookId },
        body: { ordered: order === "strict" },
      })
      const text = data.ordered
        ? `Webhook ${messageText(webhookId)} receives matches in strict order: a failing match holds up later ones.`
        : `Webhook ${messageText(webhookId)} receives matches in any order.`
      await printResult(terminal, options.json, data, text)
    })
}

async function setPaused(client: Client, webhookId: string, paused: boolean): Promise<LinkDetail> {
  const { data } = await client.request("PATCH", "linkDetail", {
    parameters: { webhook_id: webhookId },
    body: { paused },
  })
  return data
}

function progressCommands(group: Command, { terminal, environment }: CommandContext): void {
  clientCommand(group, "status", "Show the delivery status of each link")
    .option("--json", "Print the states as a JSON array")
    .action(async (options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("GET", "linkDetails")
      const isTable = await printList(terminal, options.json, data, {
        none: noLinks,
        // The widest column is last. Positions and deliveries in flight are in the JSON only.
        columns: {
          WEBHOOK: (state) => state.webhook_id,
          LAG: (state) => String(state.lag),
          DELIVERED: (state) => String(state.total.delivered),
          RETRYING: (state) => String(state.total.retrying),
          "DEAD LETTERS": (state) => String(state.total.dead_letters),
          MISSED: (state) => String(state.total.missed),
          STATE: stateText,
        },
      })
      if (isTable && data.some((state) => state.total.dead_letters > 0))
        terminal.note("To list the dead letters: sluice dead-letters list")
    })

  clientCommand(group, "attempts", "Show the newest delivery attempts of a webhook, newest first")
    .argument("<webhook_id>", "Id of the webhook")
    .option("--limit <number>", "Number of attempts, 1 to 1000", attemptLimit)
    .option("--payload", "Include the request and the response of each attempt (default limit: 5)")
    .option("--json", "Print the attempts as a JSON array")
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
      await printList(terminal, options.json, data, {
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

/** Default limit with payloads: each may have a megabyte. */
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

const nothingSent = "No attempts yet."

function stateText(state: LinkDetail): string {
  return state.ordered ? `in order, ${progressText(state)}` : progressText(state)
}

function progressText(state: LinkDetail): string {
  if (!state.valid) {
    const reason = state.invalid_reason === undefined ? "" : ` (the endpoint ${state.invalid_reason})`
    return `stopped: the webhook is invalid${reason}; to challenge it: sluice webhooks validate`
  }
  if (state.paused_since !== undefined) return `paused since ${shortInstant(state.paused_since)}`
  if (state.failing_since !== undefined) {
    const next = state.next_attempt_at === undefined ? "" : `, next attempt ${shortInstant(state.next_attempt_at)}`
    return `${state.down ? "down" : "failing"} since ${shortInstant(state.failing_since)}${next}`
  }
  if (state.down) return "down"
  return state.lag === 0 ? "up to date" : "delivering"
}
