/** `sluice webhooks`: the endpoints of an app. */
import type { Operations } from "@sluice/client"
import { InvalidArgumentError, type Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { Failure } from "../process/failure.ts"
import { printList, shortInstant } from "../terminal/table.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"

/** The group's commands. */
export function webhooksCommands(group: Command, context: CommandContext): void {
  const { terminal, environment } = context
  withConnectionOptions(group.command("add"))
    .description("register an endpoint; it must answer the challenge")
    .argument("<url>", "address of the endpoint")
    .option("--json", "print the webhook as JSON")
    .action(async (url: string, options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("POST", "webhooks", { body: { url } })
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(`Added webhook ${terminal.style.strong(messageText(data.id))}: ${messageText(data.url)}`)
      terminal.note(`Link it to the stream: sluice links add ${messageText(data.id)}`)
    })

  withConnectionOptions(group.command("list"))
    .description("list the endpoints, newest first")
    .option("--json", "print the webhooks as a JSON array")
    .action(async (options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("GET", "webhooks")
      await printList(terminal, data, {
        json: options.json === true,
        none: "No webhooks yet. Add one: sluice webhooks add https://example.com/hook",
        columns: {
          ID: ({ id }) => id,
          VALID: ({ valid }) => (valid ? "yes" : "no"),
          CREATED: ({ created_at: createdAt }) => shortInstant(createdAt),
          URL: ({ url }) => url,
        },
      })
    })

  withConnectionOptions(group.command("validate"))
    .description("challenge an endpoint now")
    .argument("<id>", "id of the webhook")
    .option("--json", "print the result as JSON")
    .action(async (id: string, options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("PUT", "webhook", { parameters: { webhook_id: id } })
      if (options.json === true) await terminal.printJson(data)
      else if (data.valid) await terminal.print(`Webhook ${messageText(id)} answered the challenge.`)
      if (!data.valid) throw new Failure(`Webhook ${id} did not answer the challenge.`)
    })

  keyCommands(group, context)
  replayCommands(group, context)

  withConnectionOptions(group.command("delete"))
    .description("delete an endpoint and its link")
    .argument("<id>", "id of the webhook")
    .option("--json", "print the answer as JSON")
    .action(async (id: string, options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("DELETE", "webhook", { parameters: { webhook_id: id } })
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(`Deleted webhook ${messageText(id)}.`)
    })
}

function keyCommands(group: Command, { terminal, environment }: CommandContext): void {
  const add = (name: string, description: string, method: keyof Operations["signingKey"]): void => {
    withConnectionOptions(group.command(name))
      .description(description)
      .argument("<id>", "id of the webhook")
      .option("--json", "print the answer as JSON")
      .action(async (id: string, options: ClientOptions) => {
        const client = await connect(options, environment)
        const { data } = await client.request(method, "signingKey", { parameters: { webhook_id: id } })
        if (options.json === true) return terminal.printJson(data)
        await terminal.print(messageText(data.signing_key))
        if (data.previous_valid_until !== undefined)
          terminal.note(`The key before signs too until ${shortInstant(data.previous_valid_until)}.`)
      })
  }
  add("key", "show the key that checks the Standard Webhooks signature of an endpoint's deliveries", "GET")
  add("rotate-key", "give an endpoint a new key of that signature; the old one signs too for a while", "POST")
}

function replayCommands(group: Command, { terminal, environment }: CommandContext): void {
  withConnectionOptions(group.command("replay"))
    .description("send the matches of a stretch of time to an endpoint once more")
    .argument("<id>", "id of the webhook")
    .requiredOption("--from <minute>", `first minute: ${minuteForm}`, minuteText)
    .requiredOption("--to <minute>", "last minute, in the same form", minuteText)
    .option("--json", "print the answer as JSON")
    .action(async (id: string, options: ClientOptions & { from: string; to: string }) => {
      const client = await connect(options, environment)
      const body = { webhook_id: id, from_date: options.from, to_date: options.to }
      const { data } = await client.request("POST", "webhookReplay", { body })
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(`Replay ${terminal.style.strong(messageText(data.job_id))} has started.`)
      terminal.note("How far it is: sluice webhooks replays")
    })

  withConnectionOptions(group.command("replays"))
    .description("list the replays, newest first, with how far they have come")
    .option("--json", "print the replays as a JSON array")
    .action(async (options: ClientOptions) => {
      const client = await connect(options, environment)
      const { data } = await client.request("GET", "replays")
      await printList(terminal, data, {
        json: options.json === true,
        none: "No replays yet. Start one: sluice webhooks replay ID",
        columns: {
          ID: (replay) => replay.job_id,
          WEBHOOK: (replay) => replay.webhook_id,
          "FROM (UTC)": (replay) => replay.from_date,
          "TO (UTC)": (replay) => replay.to_date,
          SENT: (replay) => String(replay.delivered),
          FAILED: (replay) => String(replay.failed),
          STATE: (replay) => replay.state,
        },
      })
    })
}

const minuteForm = "2026-03-14T12:30Z, or 202603141230 in UTC as X has it"

/** A minute as X's API has it, in UTC: yyyymmddhhmm. Seconds are cut off; the server decides what it can replay. */
function minuteText(text: string): string {
  if (/^\d{12}$/.test(text)) return text
  const isInstant = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)
  const atMs = isInstant ? Date.parse(text) : Number.NaN
  if (Number.isNaN(atMs)) throw new InvalidArgumentError(`A minute looks like ${minuteForm}.`)
  return new Date(atMs).toISOString().slice(0, 16).replaceAll(/\D/g, "")
}
