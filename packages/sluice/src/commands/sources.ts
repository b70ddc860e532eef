/** `sluice sources`: shows, tests and steers the sources of posts. */
import { readFile } from "node:fs/promises"
import type { Client, Operations } from "@sluice/client"
import type { Config, TriedRecord } from "@sluice/server"
import { Option, type Command } from "commander"
import { clientCommand, connect, type ClientOptions } from "../connection/connection.ts"
import { withServerFailures } from "../own-server/own-server.ts"
import { Failure, messageOf } from "../process/failure.ts"
import { interruption } from "../process/interruption.ts"
import { counted, padded, printList, shortInstant } from "../terminal/table.ts"
import { messageText, printResult, visibleLines, type CommandContext, type Terminal } from "../terminal/terminal.ts"
import { instantOption } from "./option-values.ts"

type Source = Operations["sources"]["GET"]["response"]["data"][number]

const noSources = "The server has no sources. List them under `sources` in its configuration file (docs/sources.md)."

/** The group's commands. */
export function sourcesCommands(group: Command, context: CommandContext): void {
  const { terminal, environment } = context
  clientCommand(group, "list", "List the sources: what they do, how fast, and how late they are")
    .option("--json", "Print the sources as a JSON array")
    .action(async (options: ClientOptions) => {
      const client = await connect(options, environment, "operator")
      const { data } = await client.request("GET", "sources")
      await printList(terminal, options.json, data, {
        none: noSources,
        columns: {
          NAME: ({ name }) => name,
          TYPE: ({ type }) => type,
          ACTIVITY: ({ activity }) => activity,
          RATE: ({ records_per_second: rate }) => `${String(rate)}/s`,
          LATE: ({ lag_ms: lagMs }) => (lagMs === undefined ? "" : durationText(lagMs)),
          "DEAD LETTERS": ({ dead_letters: letters }) => String(letters),
          GAPS: ({ gaps }) => String(gaps.length),
          "LAST ERROR": ({ last_error: error }) => (error ? `${shortInstant(error.at)} ${error.message}` : ""),
        },
      })
    })

  clientCommand(group, "show", "Show a source: its state, position, gaps and last error")
    .argument("<name>", "Name of the source")
    .option("--json", "Print the source as JSON")
    .action(async (name: string, options: ClientOptions) => {
      const client = await connect(options, environment, "operator")
      const { data } = await client.request("GET", "source", { parameters: { name } })
      if (options.json === true) return terminal.printJson(data)
      for (const line of sourceLines(data)) await terminal.print(line)
    })

  testCommand(group, context)
  steeringCommands(group, context)
  deadLetterCommand(group, context)
}

function steeringCommands(group: Command, context: CommandContext): void {
  const steering =
    (done: string, send: (client: Client, name: string, options: RewindOptions) => Promise<{ data: Source }>) =>
    async (name: string, options: RewindOptions): Promise<void> => {
      const { data } = await send(await connect(options, context.environment, "operator"), name, options)
      await printResult(context.terminal, options.json, data, done.replace("NAME", messageText(name)))
    }

  clientCommand(group, "pause", "Pause a source, over all processes, until it is resumed")
    .argument("<name>", "Name of the source")
    .option("--json", "Print the source as JSON")
    .action(steering("Paused NAME.", (client, name) => client.request("POST", "pauseSource", { parameters: { name } })))

  clientCommand(group, "resume", "Resume a source, which goes on behind its position")
    .argument("<name>", "Name of the source")
    .option("--json", "Print the source as JSON")
    .action(
      steering("Resumed NAME.", (client, name) => client.request("POST", "resumeSource", { parameters: { name } })),
    )

  const rewind = steering("Rewound NAME.", (client, name, { to, position }) =>
    client.request("POST", "rewindSource", {
      parameters: { name },
      body: { ...(to !== undefined && { to }), ...(position !== undefined && { position }) },
    }),
  )
  clientCommand(group, "rewind", "Have a source begin again; posts that are stored are not stored again")
    .argument("<name>", "Name of the source")
    .option("--to <time>", "Begin with what it had at a time that has passed: 2026-03-14T12:00Z", instantOption)
    .addOption(
      new Option("--position <id>", "Begin behind the row with this id, for an outbox; 0: all rows").conflicts("to"),
    )
    .option("--json", "Print the source as JSON")
    .action(async (name: string, options: RewindOptions, command: Command) => {
      if (options.to === undefined && options.position === undefined) command.error("error: specify --to or --position")
      await rewind(name, options)
    })
}

interface RewindOptions extends ClientOptions {
  readonly to?: string
  readonly position?: string
}

interface DeadLetterOptions extends ClientOptions {
  readonly repeat?: true
  readonly discard?: true
}

/** Most ids of one request. Source: the route's schema. */
const idsMax = 1_000

function deadLetterCommand(group: Command, { terminal, environment }: CommandContext): void {
  clientCommand(group, "dead-letters", "List the records that could not become posts; repeat or discard them")
    .argument("<name>", "Name of the source")
    .argument("[ids...]", "Ids of dead letters (default: all)")
    .addOption(new Option("--repeat", "Convert them again, for example with a newer version").conflicts("discard"))
    .option("--discard", "Delete them")
    .option("--json", "Print the dead letters, or the result, as JSON")
    .action(async (name: string, ids: readonly string[], options: DeadLetterOptions) => {
      const client = await connect(options, environment, "operator")
      const parameters = { name }
      const found = await Array.fromAsync(
        client.pages("sourceDeadLetters", { parameters, query: { max_results: 100 } }),
        ({ data }) => data,
      )
      const wanted = new Set(ids)
      const letters = found.flat().filter(({ id }) => wanted.size === 0 || wanted.has(id))
      if (options.repeat === true || options.discard === true) {
        const result = await settled(
          client,
          name,
          options,
          letters.map(({ id }) => id),
        )
        await printResult(terminal, options.json, result, resultText(result))
        return refuseUnknown(name, ids, letters)
      }
      const isTable = await printList(terminal, options.json, letters, {
        none: "No dead letters.",
        columns: {
          ID: ({ id }) => id,
          AT: ({ at }) => shortInstant(at),
          BYTES: ({ bytes }) => String(bytes),
          REASON: ({ title, detail }) => `${title}: ${detail}`,
        },
      })
      if (isTable) terminal.note("--json prints the records, --repeat converts them again, --discard deletes them.")
      refuseUnknown(name, ids, letters)
    })
}

/** Throws `Failure` when the source has no dead letter of one of these ids. */
function refuseUnknown(name: string, ids: readonly string[], found: readonly { readonly id: string }[]): void {
  const known = new Set(found.map(({ id }) => id))
  const unknown = ids.filter((id) => !known.has(id))
  if (unknown.length === 0) return
  throw new Failure(
    `The source ${name} has no dead letter ${unknown.slice(0, 3).join(", ")}${unknown.length > 3 ? ", …" : ""}.`,
    [`\`sluice sources dead-letters ${name}\` lists them.`],
  )
}

type LetterResult = { readonly repeated: number; readonly rejected: number } | { readonly discarded: number }

/** Repeats or discards dead letters, in as many requests as it takes. */
async function settled(
  client: Client,
  name: string,
  { repeat }: DeadLetterOptions,
  ids: readonly string[],
): Promise<LetterResult> {
  const parameters = { name }
  let [repeated, rejected, discarded] = [0, 0, 0]
  for (let at = 0; at < ids.length; at += idsMax) {
    const body = { ids: ids.slice(at, at + idsMax) }
    if (repeat === true) {
      const { data } = await client.request("POST", "repeatSourceDeadLetters", { parameters, body })
      repeated += data.repeated
      rejected += data.rejected
    } else {
      discarded += (await client.request("POST", "discardSourceDeadLetters", { parameters, body })).data.discarded
    }
  }
  return repeat === true ? { repeated, rejected } : { discarded }
}

function resultText(result: LetterResult): string {
  if ("discarded" in result) return `Discarded ${counted(result.discarded, "dead letter")}.`
  const again = result.rejected === 0 ? "" : ` ${counted(result.rejected, "record")} became dead letters again.`
  return `Converted ${counted(result.repeated, "dead letter")} again.${again}`
}

interface TestOptions {
  readonly config?: string
  readonly file?: string
  readonly dev?: true
  readonly json?: true
}

/** Records that a test prints, and the time that it takes at most. Ours. */
const triedRecordsMax = 5
const triedMsMax = 10_000

function testCommand(group: Command, { terminal, environment }: CommandContext): void {
  group
    .command("test")
    .description("Test a source without a server: its settings, a connection, and what its records become")
    .argument("<name>", "Name of the source in the configuration file")
    .option("--config <file>", "Settings file of the server (default: SLUICE_CONFIG)")
    .option("--file <file>", "Convert the records of a file instead: a JSON value, a JSON array, or one on each line")
    .option("--dev", "Allow the addresses that `sluice dev` allows: http, and those of this machine and its network")
    .option("--json", "Print the result as JSON")
    .addHelpText("after", "\nNothing is stored, and the source keeps its position.")
    .action((name: string, options: TestOptions) =>
      withServerFailures(async () => {
        const { loadConfig } = await import("@sluice/server/config")
        const posture = options.dev === true ? "dev" : "serve"
        const config = loadConfig({ posture, flags: { config: options.config }, env: environment.server })
        if (options.file !== undefined) await testOnFile(config, name, options.file, options, terminal)
        else await testConnection(config, name, options, terminal)
      }),
    )
}

async function testConnection(config: Config, name: string, { json }: TestOptions, terminal: Terminal): Promise<void> {
  const { tryListedSource } = await import("@sluice/server")
  const records: TriedRecord[] = []
  const gaps: string[] = []
  const notices: string[] = []
  let connectedTo: string | undefined
  const say = (text: string): void => {
    if (json !== true) terminal.note(messageText(text))
  }
  const options = { recordsMax: triedRecordsMax, msMax: triedMsMax, signal: interruption() }
  const tried = await tryListedSource(config, name, options, {
    connected(to) {
      connectedTo = to
      say(`Connected to ${to}.`)
    },
    async record(record) {
      records.push(record)
      if (json !== true) await terminal.print(recordLine(record))
    },
    gap(reason) {
      gaps.push(reason)
      say(reason)
    },
    notice(text) {
      notices.push(text)
      say(text)
    },
  })
  if (json === true) {
    await terminal.printJson({
      name,
      ...(connectedTo !== undefined && { connected_to: connectedTo }),
      ...(tried.kind === "failed" && { error: { message: tried.message, advice: tried.advice } }),
      records: records.map(recordJson),
      gaps,
      notices,
    })
  }
  options.signal.throwIfAborted()
  switch (tried.kind) {
    case "failed":
      throw new Failure(tried.message, tried.advice === undefined ? [] : [tried.advice])
    case "not read":
      return say("The settings are in order. To read messages of this broker would take them from others.")
    case "read":
      if (!tried.isConnected) throw new Failure(`No connection was made within ${String(triedMsMax / 1_000)} s.`)
      if (tried.records === 0) say(`The settings are in order. No record came within ${String(triedMsMax / 1_000)} s.`)
  }
}

async function testOnFile(
  config: Config,
  name: string,
  file: string,
  { json }: TestOptions,
  terminal: Terminal,
): Promise<void> {
  const { convertListedSample } = await import("@sluice/server")
  const sample = await readFile(file, "utf8").catch((error: unknown) => {
    throw new Failure(`The file cannot be read: ${messageOf(error)}.`, [], { cause: error })
  })
  const records = await convertListedSample(config, name, sample)
  if (json === true) await terminal.printJson({ name, records: records.map(recordJson) })
  else for (const record of records) await terminal.print(recordLine(record))
  const rejected = records.filter(({ kind }) => kind === "rejected").length
  if (rejected > 0) throw new Failure(`${counted(rejected, "record")} cannot become a post.`)
}

/** Width of the column for the kind of a record. */
const kindColumns = "rejected".length + 2

function recordLine(record: TriedRecord): string {
  return padded(record.kind, kindColumns) + recordText(record)
}

function recordText(record: TriedRecord): string {
  switch (record.kind) {
    case "post":
      // Whole: programs read it.
      return visibleLines(record.envelope)
    case "deletion":
      return messageText(record.name)
    case "skipped":
      return messageText(record.reason)
    case "rejected":
      return messageText(`${record.title}: ${record.detail}`)
  }
}

function recordJson(record: TriedRecord): object {
  return record.kind === "post" ? { kind: record.kind, envelope: JSON.parse(record.envelope) as unknown } : record
}

/** Width of the column for the names of members. */
const memberColumns = "dead letters".length + 2

function sourceLines(source: Source): readonly string[] {
  return [...stateMembers(source), ...countMembers(source)].map(
    ([member, text]) => padded(member, memberColumns) + messageText(text),
  )
}

type Member = readonly [name: string, text: string]

function stateMembers(source: Source): readonly Member[] {
  const {
    since,
    connected_to: to,
    position,
    position_saved_at: savedAt,
    last_record_at: lastAt,
    lag_ms: lagMs,
  } = source
  const { last_error: error } = source
  return [
    ["name", `${source.name} (${source.type})`],
    ["activity", `${source.activity}${since === undefined ? "" : ` since ${shortInstant(since)}`}`],
    ...given("connected to", to),
    ["rate", `${String(source.records_per_second)} records a second`],
    ...given("late", lagMs === undefined ? undefined : durationText(lagMs)),
    ...given("last record", lastAt && shortInstant(lastAt)),
    ...given("position", position && `${position}${savedAt === undefined ? "" : `, saved ${shortInstant(savedAt)}`}`),
    ...source.notices.map(({ message, advice }): Member => ["notice", [message, advice].filter(Boolean).join(" ")]),
    ...given("last error", error && `${shortInstant(error.at)} ${error.message}`),
    ...given("what to do", error?.advice),
  ]
}

function countMembers({ counts, dead_letters: letters, last_dead_letter: last, gaps, started_at: at }: Source) {
  const all = Object.entries(counts).filter(([, count]) => count > 0)
  const counting = all.map(([name, count]) => `${String(count)} ${name}`).join(", ")
  return [
    ["counts", `${counting === "" ? "none" : counting} since ${shortInstant(at)}`],
    ["dead letters", `${String(letters)}${last === undefined ? "" : `; the last: ${last.title}: ${last.detail}`}`],
    ...gaps.map(({ from, to, reason }): Member => ["gap", `${spanText(from, to)}${reason}`]),
  ] satisfies readonly Member[]
}

function given(name: string, text: string | undefined): readonly Member[] {
  return text === undefined ? [] : [[name, text]]
}

function spanText(from: string | undefined, to: string | undefined): string {
  if (from === undefined && to === undefined) return ""
  return `${from === undefined ? "…" : shortInstant(from)} to ${to === undefined ? "…" : shortInstant(to)}: `
}

const [secondMs, minuteMs, hourMs] = [1_000, 60_000, 3_600_000]

/** A duration in the unit that gives it one to three digits before the point. */
function durationText(ms: number): string {
  if (ms < minuteMs) return `${(ms / secondMs).toFixed(1)} s`
  return ms < 3 * hourMs ? `${String(Math.round(ms / minuteMs))} min` : `${String(Math.round(ms / hourMs))} h`
}
