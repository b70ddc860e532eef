/**
 * The command: the groups under one program, and every way in which it can end.
 *
 * Exit status 0: done. 1: failed, and standard error says why. 2: wrong usage, and standard error says how.
 */
import { Command, CommanderError } from "commander"
import packageJson from "../package.json" with { type: "json" }
import { failureOf, messageOf } from "./process/failure.ts"
import {
  createTerminal,
  messageText,
  visibleLines,
  type CommandContext,
  type Streams,
  type Terminal,
} from "./terminal/terminal.ts"

/** A word after `sluice`. */
interface Group {
  readonly description: string
  /** Adds arguments, options, commands and actions. */
  readonly load: () => Promise<(command: Command, context: CommandContext) => void>
}

/** Each is loaded when it is used: `--help` shows all of them and needs none. */
const groups: Readonly<Record<string, Group>> = {
  dev: {
    description: "run a server to try things on: an app is made, and http and loopback webhooks are taken",
    load: async () => (await import("./commands/dev.ts")).devCommand,
  },
  serve: {
    description: "run the server for others: https webhooks only, private addresses refused, nothing made by itself",
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
  demo: {
    description: "show the whole job on sample posts, on a server of its own",
    load: async () => (await import("./commands/demo.ts")).demoCommand,
  },
  doctor: {
    description:
      "check store, settings, clock, disk and endpoints, and prove that what was acknowledged is stored and " +
      "delivered; changes nothing, server running or not",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand,
  },
  backup: {
    description: "copy the store to another directory and verify the copy, server running or not",
    load: async () => (await import("./commands/backup.ts")).backupCommand,
  },
  restore: {
    description: "put the store of a backup into a data directory that has none",
    load: async () => (await import("./commands/backup.ts")).restoreCommand,
  },
  "mark-restored": {
    description:
      "after a restore by other means than `restore`: new ids are none that were given out; no server running",
    load: async () => (await import("./commands/mark-restored.ts")).markRestoredCommand,
  },
  migrate: {
    description: "move the store of a data directory into an empty PostgreSQL database, with no server running",
    load: async () => (await import("./commands/migrate.ts")).migrateCommand,
  },
  "rotate-master-key": {
    description: "seal all secrets anew under another master key, with no server running; ends the tokens of apps",
    load: async () => (await import("./commands/rotate-master-key.ts")).rotateMasterKeyCommand,
  },
  app: {
    description: "applications: each has its own rules, webhooks and links",
    load: async () => (await import("./commands/app.ts")).appCommands,
  },
  token: {
    description: "tokens for operators, and for programs that send posts in",
    load: async () => (await import("./commands/token.ts")).tokenCommands,
  },
  rules: {
    description: "the rules that posts are matched against",
    load: async () => (await import("./commands/rules.ts")).rulesCommands,
  },
  webhooks: {
    description: "the endpoints that matches may be sent to",
    load: async () => (await import("./commands/webhooks.ts")).webhooksCommands,
  },
  links: {
    description: "which webhooks matches are sent to",
    load: async () => (await import("./commands/links.ts")).linksCommands,
  },
  deliveries: {
    description: "matches on their way to webhooks: send them again",
    load: async () => (await import("./commands/deliveries.ts")).deliveriesCommands,
  },
  "dead-letters": {
    description: "matches that were given up after too many failures",
    load: async () => (await import("./commands/dead-letters.ts")).deadLettersCommands,
  },
  import: {
    description: "send posts in: a file of NDJSON envelopes, plain or gzip",
    load: async () => (await import("./commands/import.ts")).importCommand,
  },
  listen: {
    description: "a webhook receiver that registers itself, prints each delivery, and may pass it on",
    load: async () => (await import("./commands/listen.ts")).listenCommand,
  },
  trigger: {
    description: "make a post that a rule matches, and send it",
    load: async () => (await import("./commands/trigger.ts")).triggerCommand,
  },
  trouble: {
    description: "have `sluice dev` fail on demand: deliveries, challenges, page tokens, stream connections",
    load: async () => (await import("./commands/trouble.ts")).troubleCommands,
  },
  tail: {
    description: "show matches as they come, down a stream connection that is opened again when it ends",
    load: async () => (await import("./commands/tail.ts")).tailCommand,
  },
  posts: {
    description: "show a user's posts, newest first",
    load: async () => (await import("./commands/posts.ts")).postsCommand,
  },
}

/** Every command: those above, and the one that completes them. */
const allGroups: Readonly<Record<string, Group>> = {
  ...groups,
  completion: {
    description: "print a script with which bash, zsh or fish completes commands and options",
    load: async () => (await import("./commands/completion.ts")).completionCommand(wholeProgram),
  },
}

/** Runs the command with these words after its name, to its end, and resolves to the exit status. */
export async function runProgram(
  args: readonly string[],
  { environment, ...streams }: Streams & Pick<CommandContext, "environment">,
): Promise<0 | 1 | 2> {
  const terminal = createTerminal(environment, streams)
  try {
    await parse(args, streams, { terminal, environment })
    await terminal.flushed()
    return 0
  } catch (error) {
    return exitStatus(error, terminal)
  }
}

function emptyProgram(): Command {
  return new Command("sluice")
    .description("The filtered stream that you run yourself: posts in, matches out, over webhooks and streams.")
    .version(packageJson.version)
}

/** Adds every group, and loads those that are wanted. */
async function addGroups(
  program: Command,
  context: CommandContext,
  isWanted: (name: string) => boolean,
): Promise<void> {
  for (const [name, { description, load }] of Object.entries(allGroups)) {
    const command = program.command(name).description(description)
    if (isWanted(name)) (await load())(command, context)
  }
}

async function wholeProgram(context: CommandContext): Promise<Command> {
  const program = emptyProgram()
  await addGroups(program, context, () => true)
  return program
}

async function parse(args: readonly string[], streams: Streams, context: CommandContext): Promise<void> {
  const { stdout, stderr } = streams
  const program = emptyProgram()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      outputError: (text, write) => write(visibleLines(text)),
      getOutHelpWidth: () => stdout.columns ?? 80,
      getErrHelpWidth: () => stderr.columns ?? 80,
    })
    .showHelpAfterError("(--help says how)")
  const words = args.filter((word) => !word.startsWith("-"))
  const wanted = words[0] === "help" ? words[1] : words[0]
  await addGroups(program, context, (name) => name === wanted)
  try {
    await program.parseAsync(args, { from: "user" })
  } catch (error) {
    // Help and version end the program too.
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error
  }
}

/** Prints what went wrong, and returns the exit status for it. */
async function exitStatus(error: unknown, { note, noteStyle }: Pick<Terminal, "note" | "noteStyle">): Promise<1 | 2> {
  if (error instanceof CommanderError) return 2
  note(`${noteStyle.bad("error:")} ${messageText(messageOf(error))}`)
  const failure = await failureOf(error)
  for (const hint of failure?.hints ?? []) note(hint === "" ? "" : `  ${messageText(hint)}`)
  // A fault of this program: a report of it needs to show where it came from.
  if (failure === undefined && error instanceof Error) note(visibleLines(error.stack ?? ""))
  return 1
}
