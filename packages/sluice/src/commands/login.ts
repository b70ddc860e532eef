/** `sluice login` and `sluice logout`: save and delete contexts, which are servers with a token each. */
import { ApiError, createClient } from "@sluice/client"
import type { Command } from "commander"
import { checkedToken, checkedUrl, readTokenFile, tokenFileBytesMax } from "../connection/connection.ts"
import {
  checkedContextName,
  chooseContext,
  currentContextName,
  removeContext,
  writeContext,
  type TokenKind,
} from "../connection/context-files.ts"
import { noteConnection } from "../connection/used-connection.ts"
import { Failure } from "../process/failure.ts"
import { readSecret } from "../process/secret-input.ts"
import { messageText, printResult, type CommandContext, type Terminal } from "../terminal/terminal.ts"

interface LoginOptions {
  readonly url: string
  readonly tokenFile?: string
  readonly json?: true
}

/** The command's argument, options and action. */
export function loginCommand(command: Command, { terminal, environment }: CommandContext): void {
  command
    .argument("<name>", "Name of the context: letters, digits, dots, dashes and underscores")
    .requiredOption("--url <url>", "URL of the server")
    .option("--token-file <file>", "File with the token (default: a prompt, or standard input if it is not a terminal)")
    .option("--json", "Print the result as JSON")
    .addHelpText("after", "\nThe server is asked once whether it knows the token; only then the token is saved.")
    .action(async (name: string, { url, tokenFile, json }: LoginOptions) => {
      checkedContextName(name)
      checkedUrl(url)
      const text = tokenFile === undefined ? await inputToken(name, terminal) : await readTokenFile(tokenFile)
      const token = checkedToken(text)
      noteConnection(environment, { url, place: { kind: "given", name: tokenFile ?? "standard input" } })
      const { kind, owner, application } = await ownerOf(url, token)
      const file = await writeContext(environment.userDirectory, { name, url, token, kind })
      await chooseContext(environment.userDirectory, name)
      const result = { name, url, kind, ...(application !== undefined && { application }), file }
      const line = `Saved the context ${name}, now the current one: ${messageText(url)}, with a token of ${messageText(owner)}.`
      await printResult(terminal, json, result, line)
    })
}

/** The command's argument, option and action. */
export function logoutCommand(command: Command, { terminal, environment }: CommandContext): void {
  command
    .argument("<name>", "Name of the context", checkedContextName)
    .option("--json", "Print the result as JSON")
    .action(async (name: string, { json }: { readonly json?: true }) => {
      const { userDirectory } = environment
      if (!(await removeContext(userDirectory, name))) {
        throw new Failure(`There is no context ${name}.`, ["`sluice use` lists the contexts."])
      }
      const isCurrent = (await currentContextName(userDirectory)) === name
      if (isCurrent) await chooseContext(userDirectory, undefined)
      const line = `Deleted the context ${name}. Its token is valid until it is revoked.`
      await printResult(terminal, json, { name, deleted: true }, line)
    })
}

async function inputToken(name: string, terminal: Terminal): Promise<string> {
  const token = await readSecret(terminal.stdin, tokenFileBytesMax, () =>
    terminal.note(`Token of ${name} (it is not shown):`),
  )
  if (token === "") throw new Failure("The token is empty.")
  return token
}

interface TokenOwner {
  readonly kind: TokenKind
  /** For a sentence. */
  readonly owner: string
  readonly application?: { readonly id: string; readonly name: string }
}

/** Whose token it is. Throws `ApiError` for a token that the server does not know. */
async function ownerOf(url: string, token: string): Promise<TokenOwner> {
  try {
    const { data } = await createClient({ url, token }).session.get()
    const { kind, application } = data
    if (application === undefined) return { kind, owner: "an operator" }
    return { kind, application, owner: `the app ${application.name} (${application.id})` }
  } catch (error) {
    // The server knows the token, but its owner has no session.
    if (!(error instanceof ApiError) || error.kind !== "problem" || error.status !== 403) throw error
    return { kind: "other", owner: "a program that sends posts, or of a user" }
  }
}
