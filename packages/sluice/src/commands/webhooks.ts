/** `sluice webhooks`: manages the webhooks of an app. */
import { failureText } from "@sluice/api"
import type { Operations } from "@sluice/client"
import { InvalidArgumentError, type Command } from "commander"
import { clientCommand, connect, type ClientOptions } from "../connection/connection.ts"
import { Failure, WrongUsage } from "../process/failure.ts"
import { printList, shortInstant } from "../terminal/table.ts"
import { messageText, printResult, type CommandContext } from "../terminal/terminal.ts"
import { nameOption } from "./option-values.ts"

interface Texts {
  readonly name?: string
  readonly description?: string
}

/** The group's commands. */
export function webhooksCommands(group: Command, context: CommandContext): void {
  const { terminal, environment } = context
  clientCommand(group, "add", "Register an endpoint, which must answer a challenge")
    .argument("<url>", "URL of the endpoint")
    .option("--name <name>", "A name for it, which lists show", nameOption)
    .option("--description <text>", "A note about it")
    .option("--json", "Print the webhook as JSON")
    .action(async (url: string, options: ClientOptions & Texts) => {
      const client = await connect(options, environment)
      const created = (await client.request("POST", "webhooks", { body: { url } })).data
      const texts = textsIn(options)
      const data = texts === undefined ? created : (await client.webhooks.change(created.id, texts)).data
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(`Added webhook ${terminal.style.strong(messageText(data.id))}: ${messageText(data.url)}`)
      terminal.note(`To link it to the stream: sluice links add ${messageText(data.id)}`)
    })

  clientCommand(group, "list", "List the webhooks, newest first")
    .option("--json", "Print the webhooks as a JSON array")
    .action(async (options: ClientOptions) => {
      const client = await connect(options, environment)
      const pages = await Array.fromAsync(client.pages("webhookDetails", { query: { max_results: 100 } }))
      const webhooks = pages.flatMap(({ data }) => data)
      await printList(terminal, options.json, webhooks, {
        none: "No webhooks yet. Add one: sluice webhooks add https://example.com/hook",
        columns: {
          ID: ({ id }) => id,
          NAME: ({ name }) => name ?? "",
          VALID: ({ valid }) => (valid ? "yes" : "no"),
          CREATED: ({ created_at: createdAt }) => shortInstant(createdAt),
          URL: ({ url }) => url,
        },
      })
    })

  clientCommand(group, "change", "Name a webhook, or describe it")
    .argument("<id>", "Id of the webhook")
    .option("--name <name>", "Its name; an empty text removes it")
    .option("--description <text>", "A note about it; an empty text removes it")
    .option("--json", "Print the webhook as JSON")
    .action(async (id: string, options: ClientOptions & Texts) => {
      const texts = textsIn(options)
      if (texts === undefined) throw new WrongUsage("Nothing to change: give --name or --description.")
      const client = await connect(options, environment)
      const { data } = await client.webhooks.change(id, texts)
      await printResult(terminal, options.json, data, `Changed webhook ${messageText(id)}.`)
    })

  clientCommand(group, "test", "Send a made-up post to a webhook, signed as deliveries are, and print how that ended")
    .argument("<id>", "Id of the webhook")
    .option("--json", "Print the result as JSON")
    .action(async (id: string, options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.webhooks.test(id)
      const isDelivered = data.outcome === "delivered"
      if (options.json === true) await terminal.printJson(data)
      else if (isDelivered) {
        await terminal.print(`Delivered ${messageText(data.event_id)} in ${String(data.duration_ms)} ms.`)
      }
      if (isDelivered) return
      const body = data.response?.body ?? ""
      const hints = body === "" ? [] : [`Its response: ${body}`]
      throw new Failure(`The test was not delivered: ${failureText(data)}.`, hints)
    })

  clientCommand(group, "validate", "Challenge a webhook now")
    .argument("<id>", "Id of the webhook")
    .option("--json", "Print the result as JSON")
    .action(async (id: string, options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("PUT", "webhook", { parameters: { webhook_id: id } })
      if (options.json === true) await terminal.printJson(data)
      else if (data.valid) await terminal.print(`Webhook ${messageText(id)} answered the challenge.`)
      if (data.valid) return
      const { invalid_reason: reason } = (await client.webhooks.getDetail(id)).data
      const hints = reason === undefined ? [] : [`The endpoint ${reason}.`]
      throw new Failure(`Webhook ${id} did not answer the challenge.`, hints)
    })

  keyCommands(group, context)
  replayCommands(group, context)

  clientCommand(group, "delete", "Delete a webhook and its link")
    .argument("<id>", "Id of the webhook")
    .option("--json", "Print the response as JSON")
    .action(async (id: string, options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("DELETE", "webhook", { parameters: { webhook_id: id } })
      await printResult(terminal, options.json, data, `Deleted webhook ${messageText(id)}.`)
    })
}

/** The texts that the options have; undefined when they have none. */
function textsIn({ name, description }: Texts): Texts | undefined {
  if (name === undefined && description === undefined) return undefined
  return { ...(name !== undefined && { name }), ...(description !== undefined && { description }) }
}

function keyCommands(group: Command, { terminal, environment }: CommandContext): void {
  const add = (name: string, description: string, method: keyof Operations["signingKey"]): void => {
    clientCommand(group, name, description)
      .argument("<id>", "Id of the webhook")
      .option("--json", "Print the response as JSON")
      .action(async (id: string, options: ClientOptions) => {
        const client = await connect(options, environment)
        const { data } = await client.request(method, "signingKey", { parameters: { webhook_id: id } })
        if (options.json === true) return terminal.printJson(data)
        await terminal.print(messageText(data.signing_key))
        if (data.previous_valid_until !== undefined)
          terminal.note(`The previous key is also used until ${shortInstant(data.previous_valid_until)}.`)
      })
  }
  add("key", "Print the key of a webhook's Standard Webhooks signature", "GET")
  add("rotate-key", "Replace that key; deliveries are signed with the old one too for a while", "POST")
}

function replayCommands(group: Command, { terminal, environment }: CommandContext): void {
  clientCommand(group, "replay", "Deliver the matches of a past period to a webhook again")
    .argument("<id>", "Id of the webhook")
    .requiredOption("--from <minute>", `First minute: ${minuteForm}`, minuteText)
    .requiredOption("--to <minute>", "Last minute, in the same form", minuteText)
    .option("--json", "Print the response as JSON")
    .action(async (id: string, options: ClientOptions & { from: string; to: string }) => {
      const client = await connect(options, environment)
      const body = { webhook_id: id, from_date: options.from, to_date: options.to }
      const { data } = await client.request("POST", "webhookReplay", { body })
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(`Started replay ${terminal.style.strong(messageText(data.job_id))}.`)
      terminal.note("To show its progress: sluice webhooks replays")
    })

  clientCommand(group, "replays", "List the replays with their progress, newest first")
    .option("--json", "Print the replays as a JSON array")
    .action(async (options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("GET", "replays")
      await printList(terminal, options.json, data, {
        none: "No replays yet. Start one: sluice webhooks replay ID",
        columns: {
          ID: (replay) => replay.job_id,
          WEBHOOK: (replay) => replay.webhook_id,
          "FROM (UTC)": (replay) => replay.from_date,
          "TO (UTC)": (replay) => replay.to_date,
          DELIVERED: (replay) => String(replay.delivered),
          FAILED: (replay) => String(replay.failed),
          STATE: (replay) => replay.state,
        },
      })
    })

  clientCommand(group, "cancel-replay", "End a replay that is running")
    .argument("<id>", "Id of the replay, from `webhooks replays`")
    .option("--json", "Print the replay as JSON")
    .action(async (id: string, options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("DELETE", "replay", { parameters: { job_id: id } })
      const text = `Cancelled replay ${messageText(id)} after ${String(data.delivered)} deliveries.`
      await printResult(terminal, options.json, data, text)
    })
}

const minuteForm = "2026-03-14T12:30Z, or 202603141230 in UTC"

/** A minute in the form of X's API: yyyymmddhhmm in UTC. Drops seconds. */
function minuteText(text: string): string {
  if (/^\d{12}$/.test(text)) return text
  const isInstant = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)
  const atMs = isInstant ? Date.parse(text) : Number.NaN
  if (Number.isNaN(atMs)) throw new InvalidArgumentError(`Expected a minute such as ${minuteForm}.`)
  return new Date(atMs).toISOString().slice(0, 16).replaceAll(/\D/g, "")
}
