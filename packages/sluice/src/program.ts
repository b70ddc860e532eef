/**
 * The program: its command groups, error output and exit status.
 *
 * Exit status 0: success. 1: failure. 2: wrong usage. Standard error explains both. `sluice exec` has that of its command.
 */
import { Command, CommanderError } from "commander"
import packageJson from "../package.json" with { type: "json" }
import { ExitStatus } from "./process/exit-status.ts"
import { messageOf } from "./process/failure.ts"
import { createTerminal, messageText, visibleLines, type CommandContext, type Streams } from "./terminal/terminal.ts"

/** A command or command group of `sluice`. */
interface Group {
  readonly description: string
  /** Adds arguments, options, commands and actions. */
  readonly load: () => Promise<(command: Command, context: CommandContext) => void>
}

/** Loaded when used: `sluice --help` needs only the descriptions. */
const groups: Readonly<Record<string, Group>> = {
  dev: {
    description: "Start a development server: creates an app, allows http and local webhooks",
    load: async () => (await import("./commands/dev.ts")).devCommand,
  },
  serve: {
    description: "Start a production server: https webhooks at public addresses only",
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
  exec: {
    description: "Run a command, such as tests, with a private development server",
    load: async () => (await import("./commands/exec.ts")).execCommand,
  },
  demo: {
    description: "Run a demonstration with sample posts on a temporary server",
    load: async () => (await import("./commands/demo.ts")).demoCommand,
  },
  doctor: {
    description:
      "Check store, settings, clock, disk and endpoints, and verify that acknowledged posts are stored and delivered; " +
      "read-only, with or without a running server",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand,
  },
  backup: {
    description: "Back up the store to another directory and verify the copy; the server may keep running",
    load: async () => (await import("./commands/backup.ts")).backupCommand,
  },
  restore: {
    description: "Restore a backup into a data directory without a store",
    load: async () => (await import("./commands/backup.ts")).restoreCommand,
  },
  "mark-restored": {
    description: "Start a new range of ids after a restore without `sluice restore`; stop all servers first",
    load: async () => (await import("./commands/mark-restored.ts")).markRestoredCommand,
  },
  migrate: {
    description: "Move the store of a data directory to an empty PostgreSQL database; stop the server first",
    load: async () => (await import("./commands/migrate.ts")).migrateCommand,
  },
  "rotate-master-key": {
    description: "Encrypt all secrets with a new master key; revokes the tokens of apps; stop all servers first",
    load: async () => (await import("./commands/rotate-master-key.ts")).rotateMasterKeyCommand,
  },
  login: {
    description: "Save a server and a token under a name, the context of later commands",
    load: async () => (await import("./commands/login.ts")).loginCommand,
  },
  logout: {
    description: "Delete a saved server and its token",
    load: async () => (await import("./commands/login.ts")).logoutCommand,
  },
  use: {
    description: "Choose one of the saved servers, or list them",
    load: async () => (await import("./commands/use.ts")).useCommand,
  },
  app: {
    description: "Manage apps: each has its own rules, webhooks and links",
    load: async () => (await import("./commands/app.ts")).appCommands,
  },
  token: {
    description: "Manage the tokens of operators and of programs that send posts",
    load: async () => (await import("./commands/token.ts")).tokenCommands,
  },
  rules: {
    description: "Manage and test the rules of an app",
    load: async () => (await import("./commands/rules.ts")).rulesCommands,
  },
  webhooks: {
    description: "Manage the webhooks of an app",
    load: async () => (await import("./commands/webhooks.ts")).webhooksCommands,
  },
  links: {
    description: "Manage the links between the stream and webhooks, and show their deliveries",
    load: async () => (await import("./commands/links.ts")).linksCommands,
  },
  deliveries: {
    description: "Redeliver matches",
    load: async () => (await import("./commands/deliveries.ts")).deliveriesCommands,
  },
  "dead-letters": {
    description: "List and redeliver dead letters",
    load: async () => (await import("./commands/dead-letters.ts")).deadLettersCommands,
  },
  connections: {
    description: "List and end the stream connections of an app",
    load: async () => (await import("./commands/connections.ts")).connectionsCommands,
  },
  import: {
    description: "Send the posts of a file to a server",
    load: async () => (await import("./commands/import.ts")).importCommand,
  },
  listen: {
    description: "Receive deliveries on this machine: registers a webhook, prints or forwards each delivery",
    load: async () => (await import("./commands/listen.ts")).listenCommand,
  },
  trigger: {
    description: "Send a post that matches a rule",
    load: async () => (await import("./commands/trigger.ts")).triggerCommand,
  },
  trouble: {
    description: "Add faults to a development server: deliveries, challenges, page tokens, stream connections",
    load: async () => (await import("./commands/trouble.ts")).troubleCommands,
  },
  tail: {
    description: "Print matches as they arrive on the stream; reconnects when the connection ends",
    load: async () => (await import("./commands/tail.ts")).tailCommand,
  },
  posts: {
    description: "Print a user's posts, newest first, or posts by their ids",
    load: async () => (await import("./commands/posts.ts")).postsCommand,
  },
  search: {
    description: "Print the stored posts that a query matches, newest first",
    load: async () => (await import("./commands/search.ts")).searchCommand,
  },
  counts: {
    description: "Count the stored posts that a query matches, by hours, minutes or days",
    load: async () => (await import("./commands/counts.ts")).countsCommand,
  },
  sources: {
    description: "Show, test and steer the sources of posts of a server, as its operator",
    load: async () => (await import("./commands/sources.ts")).sourcesCommands,
  },
  usage: {
    description: "Print how many posts the app got, by day",
    load: async () => (await import("./commands/usage.ts")).usageCommand,
  },
}

/** All commands, including the one that completes them. */
const allGroups: Readonly<Record<string, Group>> = {
  ...groups,
  completion: {
    description: "Print a completion script for bash, zsh or fish",
    load: async () => (await import("./commands/completion.ts")).completionCommand(wholeProgram),
  },
}

/** Runs the program with these arguments and resolves to the exit status. */
export async function runProgram(
  args: readonly string[],
  { environment, ...streams }: Streams & Pick<CommandContext, "environment">,
): Promise<number> {
  const terminal = createTerminal(environment, streams)
  try {
    await parse(args, streams, { terminal, environment })
    await terminal.flushed()
    return 0
  } catch (error) {
    return exitStatus(error, { terminal, environment })
  }
}

function emptyProgram(): Command {
  return new Command("sluice")
    .description("Self-hosted filtered stream: matches posts against rules, delivers matches to webhooks and streams.")
    .version(packageJson.version, "-V, --version", "Print the version")
    .helpOption("-h, --help", "Show help")
    .helpCommand("help [command]", "Show the help of a command")
}

/** Adds all groups, and loads those that are wanted. */
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
    .showHelpAfterError("Run the command with --help for usage.")
  const words = args.filter((word) => !word.startsWith("-"))
  const wanted = words[0] === "help" ? words[1] : words[0]
  await addGroups(program, context, (name) => name === wanted)
  try {
    await program.parseAsync(args, { from: "user" })
  } catch (error) {
    // `--help` and `--version` end by an exception too.
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error
  }
}

/** Prints the error, and returns the exit status. */
async function exitStatus(error: unknown, { terminal, environment }: CommandContext): Promise<number> {
  if (error instanceof CommanderError) {
    // No short option is longer than a letter.
    const value = /unknown option '(-[^-'][^']+)'/.exec(error.message)?.[1]
    if (value !== undefined)
      terminal.note(`A value that begins with - stands behind --, as in: -- '${messageText(value)}'`)
    return 2
  }
  if (error instanceof ExitStatus) return error.status
  // Loaded here, since `--help` never needs it.
  const { commandFailure } = await import("./connection/used-connection.ts")
  const failure = await commandFailure(error, environment)
  terminal.note(`${terminal.noteStyle.bad("error:")} ${messageText(messageOf(failure ?? error))}`)
  for (const hint of failure?.hints ?? []) terminal.note(hint === "" ? "" : `  ${messageText(hint)}`)
  // A bug: its report needs the stack.
  if (failure === undefined && error instanceof Error) terminal.note(visibleLines(error.stack ?? ""))
  return failure?.status ?? 1
}
