/** `sluice dead-letters`: matches that were given up, and how to send them again. */
import type { Operations } from "@sluice/client"
import { InvalidArgumentError, type Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { Failure } from "../process/failure.ts"
import { printList, shortInstant } from "../terminal/table.ts"
import type { CommandContext } from "../terminal/terminal.ts"

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
  withConnectionOptions(group.command("list"))
    .description("list them, newest first")
    .option("--webhook <id>", "only those of this webhook")
    .option("--json", "print them as a JSON array")
    .action(async (options: ListOptions) => {
      const client = await connect(options, environment)
      const query = { max_results: 100, webhook_id: options.webhook }
      const found = await Array.fromAsync(client.pages("deadLetters", { query }))
      const isTable = await printList(
        terminal,
        found.flatMap(({ data }) => data),
        {
          json: options.json === true,
          none: "No dead letters.",
          columns: {
            ID: ({ id }) => id,
            WEBHOOK: ({ webhook_id: webhookId }) => webhookId,
            POST: ({ post_id: postId }) => postId,
            DIED: ({ dead_lettered_at: deadLetteredAt }) => shortInstant(deadLetteredAt),
            FAILURES: ({ failures }) => String(failures),
            "LAST ERROR": ({ error, outcome, status }) => error ?? `${outcome} ${String(status ?? "")}`.trim(),
          },
        },
      )
      if (isTable) terminal.note("Send them again: sluice dead-letters redeliver ID…, or --all")
    })

  withConnectionOptions(group.command("redeliver"))
    .description("send some of them again, or all")
    .argument("[ids...]", "ids of dead letters")
    .option("--all", "all of them")
    .option("--webhook <id>", "with --all: only those of this webhook")
    .option("--since <time>", "with --all: only those that died then or later, as 2026-03-14T12:30:00Z", instant)
    .option("--json", "print the answer as JSON")
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
  if (ids.length > 0 === (all === true)) command.error("error: name dead letters, or all of them with --all")
  if (all !== true && (webhook ?? since) !== undefined) command.error("error: --webhook and --since choose among --all")
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
  if (json === true) await terminal.printJson({ redelivered })
  else await terminal.print(`${countText(redelivered)} sent again.`)
  const wanted = new Set(ids).size
  if (redelivered < wanted) {
    throw new Failure(`${countText(wanted - redelivered)} not sent: not there, or no room for now.`, [
      "`sluice dead-letters list` shows those that there are; a link has room for 1,000 retries or 16 MiB.",
    ])
  }
}

function countText(count: number): string {
  return count === 1 ? "1 dead letter is" : `${String(count)} dead letters are`
}

/** The time as it was given: the server reads it. */
function instant(text: string): string {
  if (/^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text))) return text
  throw new InvalidArgumentError("A time looks like 2026-03-14T12:30:00Z.")
}
