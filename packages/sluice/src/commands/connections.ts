/** `sluice connections`: lists and ends the stream connections of an app. */
import type { Operations } from "@sluice/client"
import { Option, type Command } from "commander"
import { clientCommand, connect, type ClientOptions } from "../connection/connection.ts"
import { Failure } from "../process/failure.ts"
import { counted, printList, shortInstant } from "../terminal/table.ts"
import { printResult, type CommandContext } from "../terminal/terminal.ts"

interface ListOptions extends ClientOptions {
  readonly status: "active" | "inactive" | "all"
}

interface EndOptions extends ClientOptions {
  readonly all?: true
  readonly endpoint?: string
}

type Ended = Operations["connections"]["DELETE"]["response"]["data"]

/** Most ids of one request. Source: the route's schema. */
const idsMax = 100

/** The group's commands. */
export function connectionsCommands(group: Command, context: CommandContext): void {
  const { terminal, environment } = context
  clientCommand(group, "list", "List the stream connections, newest first")
    .addOption(
      new Option("--status <status>", "Which connections: open ones, ended ones of the last 7 days, or all")
        .choices(["active", "inactive", "all"])
        .default("active"),
    )
    .option("--json", "Print the connections as a JSON array")
    .action(async (options: ListOptions) => {
      const client = await connect(options, environment)
      const query = { max_results: 100, status: options.status }
      const pages = await Array.fromAsync(client.pages("connections", { query }))
      const connections = pages.flatMap(({ data }) => data)
      const isTable = await printList(terminal, options.json, connections, {
        none: "No connections.",
        columns: {
          ID: ({ id = "" }) => id,
          ENDPOINT: ({ endpoint_name: endpoint = "" }) => endpoint,
          CLIENT: ({ client_ip: clientIp = "" }) => clientIp,
          CONNECTED: ({ connected_at: connectedAt = "" }) => shortInstant(connectedAt),
          DISCONNECTED: ({ disconnected_at: disconnectedAt }) =>
            disconnectedAt === undefined ? "" : shortInstant(disconnectedAt),
          REASON: ({ disconnect_reason: reason = "" }) => reason,
        },
      })
      if (isTable) terminal.note("To end connections: sluice connections end ID…, --endpoint NAME or --all")
    })

  clientCommand(group, "end", "End stream connections, with a disconnect message")
    .argument("[ids...]", "Ids of connections")
    .option("--all", "End all connections of the app")
    .option("--endpoint <name>", "End the connections to an endpoint, such as filtered_stream")
    .option("--json", "Print the response as JSON")
    .action((ids: readonly string[], options: EndOptions, command: Command) => end(ids, options, command, context))
}

async function end(
  ids: readonly string[],
  options: EndOptions,
  command: Command,
  { terminal, environment }: CommandContext,
): Promise<void> {
  const { all, endpoint, json } = options
  const choices = [ids.length > 0, all === true, endpoint !== undefined].filter(Boolean)
  if (choices.length !== 1) command.error("error: specify ids of connections, --endpoint or --all")
  const client = await connect(options, environment)
  const results: Ended["results"][number][] = []
  if (all === true) results.push(...(await client.connections.deleteAll()).data.results)
  if (endpoint !== undefined) results.push(...(await client.connections.deleteByEndpoint(endpoint)).data.results)
  for (let at = 0; at < ids.length; at += idsMax) {
    results.push(...(await client.connections.deleteByUuids({ uuids: ids.slice(at, at + idsMax) })).data.results)
  }
  const failed = results.filter(({ success }) => !success)
  const ended = results.length - failed.length
  await printResult(terminal, json, results, `Ended ${counted(ended, "connection")}.`)
  if (failed.length > 0) {
    throw new Failure(
      `Could not end ${counted(failed.length, "connection")}: not open.`,
      failed.map(({ uuid, error_message: message = "" }) => `${uuid}: ${message}`),
    )
  }
}
