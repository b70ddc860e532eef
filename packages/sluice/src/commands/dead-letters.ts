/** `sluice dead-letters`: matches that were given up, and how to send them again. */
import { InvalidArgumentError, type Command } from "commander"
import { jsonBody } from "../api-client.ts"
import { connect, withConnectionOptions, type ConnectionOptions } from "../connection.ts"
import type { Environment } from "../environment.ts"
import { Failure } from "../failure.ts"
import { pages, type PageMeta } from "../pages.ts"
import { shortInstant, table } from "../table.ts"
import type { Terminal } from "../terminal.ts"

const path = "/sluice/v1/dead-letters"

/** A match that was given up. */
interface DeadLetter {
  readonly id: string
  readonly webhook_id: string
  readonly post_id: string
  readonly failures: number
  readonly outcome: string
  readonly status?: number
  readonly error?: string
  readonly died_at: string
}

interface DeadLettersPage {
  readonly data: readonly DeadLetter[]
  readonly meta?: PageMeta
}

interface ListOptions extends ConnectionOptions {
  readonly webhook?: string
  readonly json?: true
}

interface RedeliverOptions extends ListOptions {
  readonly all?: true
  readonly since?: string
}

/** Most ids of one request. Source: the route's schema. */
const idsMax = 1_000

/** Adds the group to the program. */
export function addDeadLettersCommands(
  program: Command,
  deps: { terminal: Terminal; environment: Environment },
): void {
  const { terminal, environment } = deps
  const deadLetters = program
    .command("dead-letters")
    .description("matches that were given up after too many failures")

  withConnectionOptions(deadLetters.command("list"))
    .description("list them, newest first")
    .option("--webhook <id>", "only those of this webhook")
    .option("--json", "print them as a JSON array")
    .action(async (options: ListOptions) => {
      const client = await connect(options, environment)
      const found: DeadLetter[] = []
      const query = { max_results: "100", webhook_id: options.webhook }
      for await (const page of pages<DeadLettersPage>(client, path, query)) found.push(...page.data)
      if (options.json === true) return terminal.printJson(found)
      if (found.length === 0) return terminal.note("No dead letters.")
      const rows = found.map((letter) => [
        letter.id,
        letter.webhook_id,
        letter.post_id,
        shortInstant(letter.died_at),
        String(letter.failures),
        letter.error ?? `${letter.outcome} ${String(letter.status ?? "")}`.trim(),
      ])
      const titles = ["ID", "WEBHOOK", "POST", "DIED", "FAILURES", "LAST ERROR"]
      for (const line of table(titles, rows, terminal.columns)) await terminal.print(line)
      terminal.note("Send them again: sluice dead-letters redeliver ID…, or --all")
    })

  withConnectionOptions(deadLetters.command("redeliver"))
    .description("send some of them again, or all")
    .argument("[ids...]", "ids of dead letters")
    .option("--all", "all of them")
    .option("--webhook <id>", "with --all: only those of this webhook")
    .option(
      "--since <time>",
      "with --all: only those that died then or later, as 2026-03-14T12:30:00Z",
      instant,
    )
    .option("--json", "print the answer as JSON")
    .action(async (ids: readonly string[], options: RedeliverOptions, command: Command) => {
      const { all, webhook, since, json } = options
      if (ids.length > 0 === (all === true))
        command.error("error: name dead letters, or all of them with --all")
      if (all !== true && (webhook ?? since) !== undefined)
        command.error("error: --webhook and --since choose among --all")
      const client = await connect(options, environment)
      const send = async (body: unknown): Promise<number> => {
        const { data } = await client.request<{ data: { redelivered: number } }>(
          "POST",
          `${path}/redeliver`,
          {
            body: jsonBody(body),
          },
        )
        return data.redelivered
      }
      let redelivered = 0
      if (all === true) redelivered = await send({ all, webhook_id: webhook, since })
      for (let at = 0; at < ids.length; at += idsMax)
        redelivered += await send({ ids: ids.slice(at, at + idsMax) })
      if (json === true) await terminal.printJson({ redelivered })
      else await terminal.print(`${countText(redelivered)} sent again.`)
      const wanted = new Set(ids).size
      if (redelivered < wanted) {
        throw new Failure(`${countText(wanted - redelivered)} not sent: not there, or no room for now.`, [
          "`sluice dead-letters list` shows those that there are; a link has room for 1,000 retries or 16 MiB.",
        ])
      }
    })
}

function countText(count: number): string {
  return count === 1 ? "1 dead letter is" : `${String(count)} dead letters are`
}

/** The time as it came: the server reads it. */
function instant(text: string): string {
  if (/^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text))) return text
  throw new InvalidArgumentError("A time looks like 2026-03-14T12:30:00Z.")
}
