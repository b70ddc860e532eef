/** `sluice dead-letters`: lists and redelivers dead letters. */
import type { Client, Operations } from "@sluice/client"
import { InvalidArgumentError, type Command } from "commander"
import { clientCommand, connect, type ClientOptions } from "../connection/connection.ts"
import { Failure } from "../process/failure.ts"
import { counted, printList, shortInstant } from "../terminal/table.ts"
import { printResult, type CommandContext } from "../terminal/terminal.ts"

interface ListOptions extends ClientOptions {
  readonly webhook?: string
}

interface RedeliverOptions extends ListOptions {
  readonly all?: true
  readonly since?: string
}

/** Most ids of one request. Source: the route's schema. */
const idsMax = 1_000

/** The group's commands. */
export function deadLettersCommands(group: Command, context: CommandContext): void {
  const { terminal, environment } = context
  clientCommand(group, "list", "List the dead letters, newest first")
    .option("--webhook <id>", "Only dead letters of this webhook")
    .option("--json", "Print the dead letters as a JSON array")
    .action(async (options: ListOptions) => {
      const client = await connect(options, environment)
      const query = { max_results: 100, webhook_id: options.webhook }
      const pages = await Array.fromAsync(client.pages("deadLetters", { query }))
      const letters = pages.flatMap(({ data }) => data)
      const isTable = await printList(terminal, options.json, letters, {
        none: "No dead letters.",
        columns: {
          ID: ({ id }) => id,
          WEBHOOK: ({ webhook_id: webhookId }) => webhookId,
          POST: ({ post_id: postId }) => postId,
          "DEAD-LETTERED": ({ dead_lettered_at: deadLetteredAt }) => shortInstant(deadLetteredAt),
          FAILURES: ({ failures }) => String(failures),
          "LAST ERROR": ({ error, outcome, status }) => error ?? `${outcome} ${String(status ?? "")}`.trim(),
        },
      })
      if (isTable) terminal.note("To redeliver: sluice dead-letters redeliver ID…, or --all")
    })

  clientCommand(group, "redeliver", "Redeliver dead letters")
    .argument("[ids...]", "Ids of dead letters")
    .option("--all", "Redeliver all dead letters")
    .option("--webhook <id>", "With --all: only dead letters of this webhook")
    .option(
      "--since <time>",
      "With --all: only dead letters of this time or later, such as 2026-03-14T12:30:00Z",
      instant,
    )
    .option("--json", "Print the response as JSON")
    .action((ids: readonly string[], options: RedeliverOptions, command: Command) =>
      redeliver(ids, options, command, context),
    )
}

async function redeliver(
  ids: readonly string[],
  options: RedeliverOptions,
  command: Command,
  { terminal, environment }: CommandContext,
): Promise<void> {
  const { all, webhook, since, json } = options
  if (ids.length > 0 === (all === true)) command.error("error: specify ids of dead letters, or --all")
  if (all !== true && (webhook ?? since) !== undefined) command.error("error: --webhook and --since require --all")
  const client = await connect(options, environment)
  const send = async (body: Operations["redeliver"]["POST"]["body"]): Promise<number> =>
    (await client.request("POST", "redeliver", { body })).data.redelivered
  let redelivered = 0
  if (all === true) {
    redelivered = await send({
      all,
      ...(webhook !== undefined && { webhook_id: webhook }),
      ...(since !== undefined && { since }),
    })
  }
  for (let at = 0; at < ids.length; at += idsMax) redelivered += await send({ ids: ids.slice(at, at + idsMax) })
  await printResult(terminal, json, { redelivered }, `Redelivering ${counted(redelivered, "dead letter")}.`)
  const wanted = new Set(ids).size
  if (redelivered < wanted) {
    throw new Failure(
      `Could not redeliver ${counted(wanted - redelivered, "dead letter")}: not found, or no room for retries.`,
      [`\`sluice dead-letters list\` shows the dead letters; ${roomHint}`],
    )
  }
  if (all === true && (await areLeft(client, options))) {
    throw new Failure("Dead letters remain: there is no room for more retries.", [
      `Repeat the command when these are delivered; ${roomHint}`,
    ])
  }
}

const roomHint = "a link has room for 1,000 retries or 16 MiB."

/** Whether there is a dead letter that `--all` asks for. The newest is the first of the list. */
async function areLeft(client: Client, { webhook, since }: RedeliverOptions): Promise<boolean> {
  const query = { max_results: 1, webhook_id: webhook }
  const [newest] = (await client.request("GET", "deadLetters", { query })).data
  if (newest === undefined) return false
  return since === undefined || Date.parse(newest.dead_lettered_at) >= Date.parse(since)
}

/** Validates the form; the server parses the time. */
function instant(text: string): string {
  if (/^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text))) return text
  throw new InvalidArgumentError("Expected a time such as 2026-03-14T12:30:00Z.")
}
