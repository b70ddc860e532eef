/** `sluice deliveries`: redelivers matches of links. */
import type { Operations } from "@sluice/client"
import type { Command } from "commander"
import { clientCommand, connect, type ClientOptions } from "../connection/connection.ts"
import { Failure } from "../process/failure.ts"
import { counted } from "../terminal/table.ts"
import { messageText, printResult, type CommandContext } from "../terminal/terminal.ts"

type Redelivered = Operations["redeliverMatches"]["POST"]["response"]["data"]

interface RedeliverOptions extends ClientOptions {
  readonly failed?: true
  readonly webhook?: string
}

/** Most event ids of one request. Source: the route's schema. */
const idsMax = 1_000

/** Most refusals that are printed; the JSON has all. */
const refusalsShown = 20

/** The group's commands. */
export function deliveriesCommands(group: Command, context: CommandContext): void {
  clientCommand(group, "redeliver", "Redeliver matches that are still kept; `links attempts` shows their event ids")
    .argument("[event_ids...]", "Webhook-id of each match: msg_…")
    .option("--failed", "All failed matches of a webhook: those being retried, and its dead letters")
    .option("--webhook <id>", "With --failed: id of the webhook")
    .option("--json", "Print the response as JSON")
    .action((eventIds: readonly string[], options: RedeliverOptions, command: Command) =>
      redeliver(eventIds, options, command, context),
    )
}

async function redeliver(
  eventIds: readonly string[],
  { failed, webhook, json, ...connection }: RedeliverOptions,
  command: Command,
  { terminal, environment }: CommandContext,
): Promise<void> {
  if (eventIds.length > 0 === (failed === true)) command.error("error: specify event ids, or --failed --webhook ID")
  if ((failed === true) !== (webhook !== undefined))
    command.error("error: --failed and --webhook must be used together")
  const client = await connect(connection, environment)
  const send = async (body: Operations["redeliverMatches"]["POST"]["body"]): Promise<Redelivered> =>
    (await client.request("POST", "redeliverMatches", { body })).data
  const results: Redelivered[] = []
  if (webhook !== undefined) results.push(await send({ webhook_id: webhook, failed: true }))
  for (let at = 0; at < eventIds.length; at += idsMax)
    results.push(await send({ event_ids: eventIds.slice(at, at + idsMax) }))
  const redelivered = results.reduce((sum, result) => sum + result.redelivered, 0)
  const refused = results.flatMap((result) => result.refused)
  const text = `Redelivering ${counted(redelivered, "match", "matches")}.`
  await printResult(terminal, json, { redelivered, refused }, text)
  if (refused.length === 0) return
  const shown = refused
    .slice(0, refusalsShown)
    .map(({ event_id: id, reason }) => `${messageText(id)}: ${textOf(reason)}`)
  const left = refused.length - shown.length
  throw new Failure(`${String(refused.length)} of ${String(eventIds.length)} matches are not redelivered.`, [
    ...shown,
    ...(left > 0 ? [`and ${String(left)} more`] : []),
  ])
}

function textOf(reason: string): string {
  switch (reason) {
    case "waiting":
      return "not delivered yet, and still pending"
    case "gone":
      return "deleted by retention"
    case "no-room":
      return "no room for another retry of its link; try again later"
    default:
      return "not found"
  }
}
