#!/usr/bin/env node
/**
 * The command: the groups under one program, and every way in which it can end.
 *
 * Exit status 0: done. 1: failed, and standard error says why. 2: wrong usage, and standard error says how.
 */
import { Command, CommanderError } from "commander"
import packageJson from "../package.json" with { type: "json" }
import { readEnvironment, type Environment } from "./environment.ts"
import { Failure, messageOf } from "./failure.ts"
import { createTerminal, messageText, visibleLines, type Terminal } from "./terminal.ts"

/** What every group of commands is given. */
interface Surroundings {
  readonly terminal: Terminal
  readonly environment: Environment
}

type AddCommands = (program: Command, deps: Surroundings) => void

/** Each group by its first word, loaded when it is asked for: the server's code alone takes longer than a request. */
const groups: Readonly<Record<string, () => Promise<AddCommands>>> = {
  dev: async () => (await import("./commands/dev.ts")).addDevCommand,
  serve: async () => (await import("./commands/serve.ts")).addServeCommand,
  demo: async () => (await import("./commands/demo.ts")).addDemoCommand,
  doctor: async () => (await import("./commands/doctor.ts")).addDoctorCommand,
  app: async () => (await import("./commands/app.ts")).addAppCommands,
  token: async () => (await import("./commands/token.ts")).addTokenCommands,
  rules: async () => (await import("./commands/rules.ts")).addRulesCommands,
  webhooks: async () => (await import("./commands/webhooks.ts")).addWebhooksCommands,
  links: async () => (await import("./commands/links.ts")).addLinksCommands,
  "dead-letters": async () => (await import("./commands/dead-letters.ts")).addDeadLettersCommands,
  import: async () => (await import("./commands/import.ts")).addImportCommand,
  tail: async () => (await import("./commands/tail.ts")).addTailCommand,
  posts: async () => (await import("./commands/posts.ts")).addPostsCommand,
}

const environment = readEnvironment()
const terminal = createTerminal(environment)
try {
  const program = await createProgram(process.argv[2], { terminal, environment })
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitStatus(error, terminal)
}

/** The program with the group of this name, or with all of them for whoever asks for something else. */
async function createProgram(name: string | undefined, deps: Surroundings): Promise<Command> {
  const program = new Command("sluice")
    .description(
      "The filtered stream that you run yourself: posts in, matches out, over webhooks and streams.",
    )
    .version(packageJson.version)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(visibleLines(text)) })
    .showHelpAfterError("(--help says how)")
  const wanted = Object.keys(groups).includes(name ?? "") ? [groups[name ?? ""]] : Object.values(groups)
  for (const group of wanted) (await group?.())?.(program, deps)
  return program
}

/** Says what went wrong and answers the exit status for it. */
function exitStatus(error: unknown, { note, noteStyle }: Pick<Terminal, "note" | "noteStyle">): 0 | 1 | 2 {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  note(`${noteStyle.bad("error:")} ${messageText(messageOf(error))}`)
  if (error instanceof Failure)
    for (const hint of error.hints) note(hint === "" ? "" : `  ${messageText(hint)}`)
  // Our own fault: whoever reports it needs to say where it came from.
  else if (error instanceof Error) note(visibleLines(error.stack ?? ""))
  return 1
}
