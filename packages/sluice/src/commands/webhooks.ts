/** `sluice webhooks`: the endpoints of an app. */
import type { Command } from "commander"
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
      const { data } = await client.request<{ data: { signing_key: string } }>(
        "GET",
        `/sluice/v1/webhooks/${encodeURIComponent(id)}/signing_key`,
      )
      if (options.json === true) await terminal.printJson(data)
      else await terminal.print(messageText(data.signing_key))
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
