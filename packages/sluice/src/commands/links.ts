/** `sluice links`: which webhooks the stream's matches are sent to. */
import { Argument, InvalidArgumentError, type Command } from "commander"
import { jsonBody } from "../api-client.ts"
import { connect, withConnectionOptions, type ConnectionOptions } from "../connection.ts"
import type { Environment } from "../environment.ts"
import { pages, type PageMeta } from "../pages.ts"
import { shortInstant, table } from "../table.ts"
import { messageText, type Terminal } from "../terminal.ts"

const path = "/2/tweets/search/webhooks"
const statePath = "/sluice/v1/links"

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
  readonly invalid_reason?: string
  readonly ordered: boolean
  readonly down: boolean
  readonly lag: number
  readonly failing_since?: string
  readonly next_attempt_at?: string
  readonly total: {
    readonly delivered: number
    readonly retrying: number
    readonly dead_letters: number
    readonly missed: number
  }
}

/** An attempt to deliver. */
interface Attempt {
  readonly at: string
  readonly duration_ms: number
  readonly outcome: string
  readonly fault?: string
  readonly status?: number
  readonly event_id: string
  readonly error?: string
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
      const { data } = await client.request<{ data: readonly LinkState[] }>("GET", statePath)
      if (options.json === true) return terminal.printJson(data)
      if (data.length === 0) return terminal.note("No links yet. Add one: sluice links add WEBHOOK_ID")
      // The state is the widest and says most: position and sends under way are in the JSON.
      const titles = ["WEBHOOK", "BEHIND", "SENT", "RETRIED", "DEAD", "MISSED", "STATE"]
      const rows = data.map((state) => [
        state.webhook_id,
        String(state.lag),
        String(state.total.delivered),
        String(state.total.retrying),
        String(state.total.dead_letters),
        String(state.total.missed),
        stateText(state),
      ])
      for (const line of table(titles, rows, terminal.columns)) await terminal.print(line)
      if (data.some((state) => state.total.dead_letters > 0))
        terminal.note("See what was given up: sluice dead-letters list")
    })

  withConnectionOptions(links.command("attempts"))
    .description("show the newest attempts to deliver to a webhook, newest first")
    .argument("<webhook_id>", "id of the webhook")
    .option("--limit <number>", "how many, 1 to 1000", attemptLimit)
    .option("--json", "print the attempts as a JSON array")
    .action(async (webhookId: string, options: JsonOption & { limit?: string }) => {
      const client = await connect(options, environment)
      const { data } = await client.request<{ data: readonly Attempt[] }>(
        "GET",
        `${statePathOf(webhookId)}/attempts`,
        { query: { max_results: options.limit } },
      )
      if (options.json === true) return terminal.printJson(data)
      if (data.length === 0) return terminal.note("Nothing was sent to it yet.")
      const rows = data.map((attempt) => [
        attempt.at,
        `${String(attempt.duration_ms)} ms`,
        attempt.event_id,
        attempt.fault === "server" ? `${attempt.outcome} (here)` : attempt.outcome,
        attempt.status === undefined ? "" : String(attempt.status),
        attempt.error ?? "",
      ])
      const titles = ["TIME", "TOOK", "EVENT", "OUTCOME", "STATUS", "ERROR"]
      for (const line of table(titles, rows, terminal.columns)) await terminal.print(line)
    })

  withConnectionOptions(links.command("order"))
    .description("have matches sent strictly one after the other, or in any order, which is faster")
    .argument("<webhook_id>", "id of the webhook")
    .addArgument(new Argument("<order>", "how to send").choices(["strict", "any"]))
    .option("--json", "print the link's state as JSON")
    .action(async (webhookId: string, order: "strict" | "any", options: JsonOption) => {
      const client = await connect(options, environment)
      const { data } = await client.request<{ data: LinkState }>("PATCH", statePathOf(webhookId), {
        body: jsonBody({ ordered: order === "strict" }),
      })
      if (options.json === true) return terminal.printJson(data)
      await terminal.print(
        data.ordered
          ? `Matches go to webhook ${messageText(webhookId)} strictly in order: one that fails holds up the others.`
          : `Matches go to webhook ${messageText(webhookId)} in any order.`,
      )
    })
}

function pathOf(webhookId: string): string {
  return `${path}/${encodeURIComponent(webhookId)}`
}

function statePathOf(webhookId: string): string {
  return `${statePath}/${encodeURIComponent(webhookId)}`
}

/** The number's text as it came: the server reads it. */
function attemptLimit(text: string): string {
  if (/^[1-9]\d{0,2}$|^1000$/.test(text)) return text
  throw new InvalidArgumentError("A whole number from 1 to 1000.")
}

function stateText(state: LinkState): string {
  return state.ordered ? `in order, ${progressText(state)}` : progressText(state)
}

function progressText(state: LinkState): string {
  if (!state.valid) {
    const reason = state.invalid_reason === undefined ? "" : ` (the endpoint ${state.invalid_reason})`
    return `held: the webhook is not valid${reason}, see \`sluice webhooks validate\``
  }
  if (state.failing_since !== undefined) {
    const next =
      state.next_attempt_at === undefined ? "" : `, next attempt ${shortInstant(state.next_attempt_at)}`
    return `${state.down ? "down" : "failing"} since ${shortInstant(state.failing_since)}${next}`
  }
  if (state.down) return "down"
  return state.lag === 0 ? "up to date" : "delivering"
}
