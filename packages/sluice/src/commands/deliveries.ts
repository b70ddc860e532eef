/** `sluice deliveries`: matches of links, sent again on request. */
import type { Operations } from "@sluice/client"
import type { Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { Failure } from "../process/failure.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"

type Redelivered = Operations["redeliverMatches"]["POST"]["response"]["data"]

interface RedeliverOptions extends ClientOptions {
  readonly failed?: true
  readonly webhook?: string
}

/** Most event ids of one request. Source: the route's schema. */
const idsMax = 1_000

/** Reasons that are shown one by one; the JSON has all. */
const refusalsShown = 20

/** The group's commands. */
export function deliveriesCommands(group: Command, context: CommandContext): void {
  withConnectionOptions(group.command("redeliver"))
    .description("send matches again that are kept, delivered or not; `links attempts` shows their event ids")
    .argument("[event_ids...]", "the webhook-id of each: msg_…")
    .option("--failed", "all that a webhook was not delivered yet: what is retried at once, and its dead letters")
    .option("--webhook <id>", "with --failed: the webhook")
    .option("--json", "print the answer as JSON")
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
  if (eventIds.length > 0 === (failed === true))
    command.error("error: name event ids, or all that failed with --failed --webhook ID")
  if ((failed === true) !== (webhook !== undefined)) command.error("error: --failed and --webhook go together")
  const client = await connect(connection, environment)
  const send = async (body: Operations["redeliverMatches"]["POST"]["body"]): Promise<Redelivered> =>
    (await client.request("POST", "redeliverMatches", { body })).data
  const results: Redelivered[] = []
  if (webhook !== undefined) results.push(await send({ webhook_id: webhook, failed: true }))
  for (let at = 0; at < eventIds.length; at += idsMax)
    results.push(await send({ event_ids: eventIds.slice(at, at + idsMax) }))
  const redelivered = results.reduce((sum, result) => sum + result.redelivered, 0)
  const refused = results.flatMap((result) => result.refused)
  if (json === true) await terminal.printJson({ redelivered, refused })
  else
    await terminal.print(
      redelivered === 1 ? "1 match is sent again." : `${String(redelivered)} matches are sent again.`,
    )
  if (refused.length === 0) return
  const shown = refused
    .slice(0, refusalsShown)
    .map(({ event_id: id, reason }) => `${messageText(id)}: ${textOf(reason)}`)
  const left = refused.length - shown.length
  throw new Failure(`${String(refused.length)} of ${String(eventIds.length)} are not sent.`, [
    ...shown,
    ...(left > 0 ? [`and ${String(left)} more`] : []),
  ])
}

function textOf(reason: string): string {
  switch (reason) {
    case "waiting":
      return "it was not sent yet, and will be"
    case "gone":
      return "retention has deleted the match"
    case "no-room":
      return "its link has as many retries as it may; try again later"
    default:
      return "there is no such match"
  }
}
