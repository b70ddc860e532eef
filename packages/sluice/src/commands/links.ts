/** `sluice links`: which webhooks the stream's matches are sent to. */
import type { Command } from "commander"
import { connect, withConnectionOptions, type ConnectionOptions } from "../connection.ts"
import type { Environment } from "../environment.ts"
import { pages, type PageMeta } from "../pages.ts"
import { shortInstant, table } from "../table.ts"
import { messageText, type Terminal } from "../terminal.ts"

const path = "/2/tweets/search/webhooks"

interface Link {
  readonly created_at: string
  readonly fields: readonly string[]
  readonly webhook_id: string
}

interface LinksPage {
  readonly data: { readonly links: readonly Link[] }
  readonly meta?: PageMeta
}

/** How far a link's deliveries are. */
interface LinkState {
  readonly webhook_id: string
  readonly valid: boolean
  readonly position: number
  readonly lag: number
  readonly in_flight: number
  readonly delivered: number
  readonly failed: number
  readonly failing_since?: string
  readonly next_attempt_at?: string
}

interface JsonOption extends ConnectionOptions {
  readonly json?: true
}

/** Adds the group to the program. */
export function addLinksCommands(
  program: Command,
  deps: { terminal: Terminal; environment: Environment },
): void {
  const { terminal, environment } = deps
  const links = program.command("links").description("which webhooks matches are sent to")

  withConnectionOptions(links.command("add"))
    .description("send the stream's matches to a webhook, from now on")
    .argument("<webhook_id>", "id of the webhook")
    .option(
      "--fields <query>",
      'what deliveries show, for example "expansions=author_id&user.fields=username"',
    )
    .option("--json", "print the answer as JSON")
    .action(async (webhookId: string, options: JsonOption & { fields?: string }) => {
      const client = await connect(options, environment)
      const fields =
        options.fields === undefined || options.fields === "" ? "" : `?${options.fields.replace(/^\?/, "")}`
      const { data } = await client.request<{ data: unknown }>("POST", `${pathOf(webhookId)}${fields}`)
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(`Linked webhook ${messageText(webhookId)}: matches are sent to it from now on.`)
    })

  withConnectionOptions(links.command("list"))
    .description("list the links, newest first")
    .option("--json", "print the links as a JSON array")
    .action(async (options: JsonOption) => {
      const client = await connect(options, environment)
      const found: Link[] = []
      for await (const page of pages<LinksPage>(client, path, { max_results: "100" }))
        found.push(...page.data.links)
      if (options.json === true) return terminal.printJson(found)
      if (found.length === 0) return terminal.note("No links yet. Add one: sluice links add WEBHOOK_ID")
      const rows = found.map(({ webhook_id: webhookId, created_at: createdAt, fields }) => [
        webhookId,
        shortInstant(createdAt),
        fields.join(" "),
      ])
      for (const line of table(["WEBHOOK", "CREATED", "FIELDS"], rows, terminal.columns))
        await terminal.print(line)
    })

  withConnectionOptions(links.command("delete"))
    .description("stop sending matches to a webhook")
    .argument("<webhook_id>", "id of the webhook")
    .option("--json", "print the answer as JSON")
    .action(async (webhookId: string, options: JsonOption) => {
      const client = await connect(options, environment)
      const { data } = await client.request<{ data: unknown }>("DELETE", pathOf(webhookId))
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(`Unlinked webhook ${messageText(webhookId)}.`)
    })

  withConnectionOptions(links.command("status"))
    .description("show how far each link's deliveries are")
    .option("--json", "print the states as a JSON array")
    .action(async (options: JsonOption) => {
      const client = await connect(options, environment)
      const { data } = await client.request<{ data: readonly LinkState[] }>("GET", "/sluice/v1/links")
      if (options.json === true) return terminal.printJson(data)
      if (data.length === 0) return terminal.note("No links yet. Add one: sluice links add WEBHOOK_ID")
      const titles = ["WEBHOOK", "POSITION", "BEHIND", "IN FLIGHT", "SENT", "FAILED", "STATE"]
      const rows = data.map((state) => [
        state.webhook_id,
        String(state.position),
        String(state.lag),
        String(state.in_flight),
        String(state.delivered),
        String(state.failed),
        stateText(state),
      ])
      for (const line of table(titles, rows, terminal.columns)) await terminal.print(line)
    })
}

function pathOf(webhookId: string): string {
  return `${path}/${encodeURIComponent(webhookId)}`
}

function stateText(state: LinkState): string {
  if (!state.valid) return "held: the webhook is not valid, see `sluice webhooks validate`"
  if (state.failing_since !== undefined) {
    const next =
      state.next_attempt_at === undefined ? "" : `, next attempt ${shortInstant(state.next_attempt_at)}`
    return `failing since ${shortInstant(state.failing_since)}${next}`
  }
  return state.lag === 0 ? "up to date" : "delivering"
}
