/** `sluice posts`: a user's posts, page by page. */
import { InvalidArgumentError, type Command } from "commander"
import { faultText } from "../api-client.ts"
import { connect, withConnectionOptions, type ConnectionOptions } from "../connection.ts"
import type { Environment } from "../environment.ts"
import { Failure } from "../failure.ts"
import { pages, type PageMeta } from "../pages.ts"
import { shortInstant } from "../table.ts"
import type { Terminal } from "../terminal.ts"
import { terminalText } from "../terminal-text.ts"

interface PostsPage {
  readonly data?: readonly { readonly id: string; readonly text: string; readonly created_at?: string }[]
  readonly meta?: PageMeta
  readonly errors?: readonly unknown[]
}

interface PostsOptions extends ConnectionOptions {
  readonly json?: true
  readonly all?: true
  readonly exclude?: string
}

/** Adds the command to the program. */
export function addPostsCommand(
  program: Command,
  deps: { terminal: Terminal; environment: Environment },
): void {
  const { terminal, environment } = deps
  withConnectionOptions(program.command("posts"))
    .description("show a user's posts, newest first")
    .argument("<user>", "id of the user, digits", userId)
    .option("--all", "follow the pages to the oldest post; else the newest ten")
    .option("--exclude <kinds>", "leave out replies, retweets or both: replies,retweets")
    .option("--json", "print a line of JSON for each post")
    .action(async (user: string, options: PostsOptions) => {
      const client = await connect(options, environment)
      const query = {
        max_results: options.all === true ? "100" : "10",
        "tweet.fields": "created_at",
        exclude: options.exclude,
      }
      let count = 0
      for await (const page of pages<PostsPage>(client, `/2/users/${user}/tweets`, query)) {
        if (page.errors !== undefined && page.data === undefined) throw notShown(page)
        for (const post of page.data ?? []) {
          count += 1
          if (options.json === true) await terminal.printJson(post)
          else await terminal.print(postLine(post, terminal))
        }
        if (terminal.readerGone.aborted) return
        if (options.all !== true && page.meta?.next_token !== undefined) {
          terminal.note("There are older posts: --all shows them.")
          return
        }
      }
      if (count === 0) terminal.note("The user has no such posts.")
    })
}

function userId(text: string): string {
  if (/^[0-9]{1,19}$/.test(text)) return text
  throw new InvalidArgumentError("A user is given by an id of 1 to 19 digits, such as 2244994945.")
}

function notShown(page: PostsPage): Failure {
  const said = faultText({ errors: page.errors })
  return new Failure(said?.message ?? "The posts cannot be shown.", said?.causes)
}

function postLine(post: NonNullable<PostsPage["data"]>[number], { style, columns }: Terminal): string {
  const id = terminalText(post.id, 19).padEnd(19)
  const at = shortInstant(terminalText(post.created_at ?? "", 24))
  const room = Math.max(columns - 19 - at.length - 4, 20)
  return `${style.strong(id)}  ${style.faint(at)}  ${terminalText(post.text, room)}`
}
