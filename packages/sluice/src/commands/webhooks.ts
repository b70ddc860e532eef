/** `sluice webhooks`: the endpoints of an app. */
import { InvalidArgumentError, type Command } from "commander"
import { jsonBody } from "../api-client.ts"
import { connect, withConnectionOptions, type ConnectionOptions } from "../connection.ts"
import type { Environment } from "../environment.ts"
import { Failure } from "../failure.ts"
import { shortInstant, table } from "../table.ts"
import { messageText, type Terminal } from "../terminal.ts"

const path = "/2/webhooks"

interface Webhook {
  readonly id: string
  readonly url: string
  readonly valid: boolean
  readonly created_at: string
}

/** The key of a webhook's Standard Webhooks signature. */
interface SigningKey {
  readonly signing_key: string
  readonly previous_valid_until?: string
}

/** A replay and how far it has come. */
interface Replay {
  readonly job_id: string
  readonly webhook_id: string
  readonly from_date: string
  readonly to_date: string
  readonly state: string
  readonly delivered: number
  readonly failed: number
}

interface JsonOption extends ConnectionOptions {
  readonly json?: true
}

/** Adds the group to the program. */
export function addWebhooksCommands(
  program: Command,
  deps: { terminal: Terminal; environment: Environment },
): void {
  const { terminal, environment } = deps
  const webhooks = program.command("webhooks").description("the endpoints that matches may be sent to")

  const printKey = async (key: SigningKey): Promise<void> => {
    await terminal.print(messageText(key.signing_key))
    if (key.previous_valid_until !== undefined)
      terminal.note(`The key before signs too until ${shortInstant(key.previous_valid_until)}.`)
  }

  withConnectionOptions(webhooks.command("add"))
    .description("register an endpoint; it must answer the challenge")
    .argument("<url>", "address of the endpoint")
    .option("--json", "print the webhook as JSON")
    .action(async (url: string, options: JsonOption) => {
      const client = await connect(options, environment)
      const { data } = await client.request<{ data: Webhook }>("POST", path, { body: jsonBody({ url }) })
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(
        `Added webhook ${terminal.style.strong(messageText(data.id))}: ${messageText(data.url)}`,
      )
      terminal.note(`Link it to the stream: sluice links add ${messageText(data.id)}`)
    })

  withConnectionOptions(webhooks.command("list"))
    .description("list the endpoints, newest first")
    .option("--json", "print the webhooks as a JSON array")
    .action(async (options: JsonOption) => {
      const client = await connect(options, environment)
      const { data } = await client.request<{ data: readonly Webhook[] }>("GET", path)
      if (options.json === true) return terminal.printJson(data)
      if (data.length === 0)
        return terminal.note("No webhooks yet. Add one: sluice webhooks add https://example.com/hook")
      const rows = data.map(({ id, url, valid, created_at: createdAt }) => [
        id,
        valid ? "yes" : "no",
        shortInstant(createdAt),
        url,
      ])
      for (const line of table(["ID", "VALID", "CREATED", "URL"], rows, terminal.columns))
        await terminal.print(line)
    })

  withConnectionOptions(webhooks.command("validate"))
    .description("challenge an endpoint now")
    .argument("<id>", "id of the webhook")
    .option("--json", "print the result as JSON")
    .action(async (id: string, options: JsonOption) => {
      const client = await connect(options, environment)
      const { data } = await client.request<{ data: { valid: boolean } }>(
        "PUT",
        `${path}/${encodeURIComponent(id)}`,
      )
      if (options.json === true) await terminal.printJson(data)
      else if (data.valid) await terminal.print(`Webhook ${messageText(id)} answered the challenge.`)
      if (!data.valid) throw new Failure(`Webhook ${id} did not answer the challenge.`)
    })

  withConnectionOptions(webhooks.command("key"))
    .description("show the key that checks the Standard Webhooks signature of an endpoint's deliveries")
    .argument("<id>", "id of the webhook")
    .option("--json", "print the answer as JSON")
    .action(async (id: string, options: JsonOption) => {
      const client = await connect(options, environment)
      const { data } = await client.request<{ data: SigningKey }>("GET", keyPathOf(id))
      if (options.json === true) return terminal.printJson(data)
      await printKey(data)
    })

  withConnectionOptions(webhooks.command("rotate-key"))
    .description("give an endpoint a new key of that signature; the old one signs too for a while")
    .argument("<id>", "id of the webhook")
    .option("--json", "print the answer as JSON")
    .action(async (id: string, options: JsonOption) => {
      const client = await connect(options, environment)
      const { data } = await client.request<{ data: SigningKey }>("POST", keyPathOf(id))
      if (options.json === true) return terminal.printJson(data)
      await printKey(data)
    })

  withConnectionOptions(webhooks.command("replay"))
    .description("send the matches of a stretch of time to an endpoint once more")
    .argument("<id>", "id of the webhook")
    .requiredOption("--from <minute>", `first minute: ${minuteForm}`, minuteText)
    .requiredOption("--to <minute>", "last minute, in the same form", minuteText)
    .option("--json", "print the answer as JSON")
    .action(async (id: string, options: JsonOption & { from: string; to: string }) => {
      const client = await connect(options, environment)
      const { data } = await client.request<{ data: { job_id: string } }>("POST", `${path}/replay`, {
        body: jsonBody({ webhook_id: id, from_date: options.from, to_date: options.to }),
      })
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(`Replay ${terminal.style.strong(messageText(data.job_id))} has started.`)
      terminal.note("How far it is: sluice webhooks replays")
    })

  withConnectionOptions(webhooks.command("replays"))
    .description("list the replays, newest first, with how far they have come")
    .option("--json", "print the replays as a JSON array")
    .action(async (options: JsonOption) => {
      const client = await connect(options, environment)
      const { data } = await client.request<{ data: readonly Replay[] }>("GET", "/sluice/v1/replays")
      if (options.json === true) return terminal.printJson(data)
      if (data.length === 0) return terminal.note("No replays yet. Start one: sluice webhooks replay ID")
      const rows = data.map((replay) => [
        replay.job_id,
        replay.webhook_id,
        replay.from_date,
        replay.to_date,
        String(replay.delivered),
        String(replay.failed),
        replay.state,
      ])
      const titles = ["ID", "WEBHOOK", "FROM (UTC)", "TO (UTC)", "SENT", "FAILED", "STATE"]
      for (const line of table(titles, rows, terminal.columns)) await terminal.print(line)
    })

  withConnectionOptions(webhooks.command("delete"))
    .description("delete an endpoint and its link")
    .argument("<id>", "id of the webhook")
    .option("--json", "print the answer as JSON")
    .action(async (id: string, options: JsonOption) => {
      const client = await connect(options, environment)
      const { data } = await client.request<{ data: unknown }>("DELETE", `${path}/${encodeURIComponent(id)}`)
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(`Deleted webhook ${messageText(id)}.`)
    })
}

function keyPathOf(id: string): string {
  return `/sluice/v1/webhooks/${encodeURIComponent(id)}/signing_key`
}

const minuteForm = "2026-03-14T12:30Z, or 202603141230 in UTC as X has it"

/** A minute as X's API has it, in UTC: yyyymmddhhmm. Seconds are cut off; whether it can be replayed, the server says. */
function minuteText(text: string): string {
  if (/^\d{12}$/.test(text)) return text
  const isInstant = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)
  const atMs = isInstant ? Date.parse(text) : Number.NaN
  if (Number.isNaN(atMs)) throw new InvalidArgumentError(`A minute looks like ${minuteForm}.`)
  return new Date(atMs).toISOString().slice(0, 16).replaceAll(/\D/g, "")
}
