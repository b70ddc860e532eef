/** `sluice posts`: prints a user's posts, page by page. */
import type { Operations } from "@sluice/client"
import type { Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { Failure } from "../process/failure.ts"
import { shortInstant } from "../terminal/table.ts"
import type { CommandContext, Terminal } from "../terminal/terminal.ts"
import { terminalText } from "../terminal/terminal-text.ts"
import { matching } from "./option-values.ts"

type PostsPage = Operations["userPosts"]["GET"]["response"]

interface PostsOptions extends ClientOptions {
  readonly all?: true
  readonly exclude?: string
}

const userId = matching(/^[0-9]{1,19}$/, "the id of a user, 1 to 19 digits, such as 2244994945")

/** The command's options and action. */
export function postsCommand(command: Command, { terminal, environment }: CommandContext): void {
  withConnectionOptions(command)
    .argument("<user>", "Id of the user", userId)
    .option("--all", "Print all posts (default: the newest ten)")
    .option("--exclude <kinds>", "Exclude replies, retweets or both: replies,retweets")
    .option("--json", "Print one line of JSON for each post")
    .action(async (user: string, options: PostsOptions) => {
      const client = await connect(options, environment)
      const query = {
        max_results: options.all === true ? 100 : 10,
        "tweet.fields": "created_at",
        exclude: options.exclude,
      }
      let count = 0
      for await (const page of client.pages("userPosts", { parameters: { id: user }, query })) {
        if (page.errors !== undefined && page.data === undefined) throw await notShown(page)
        for (const post of page.data ?? []) {
          count += 1
          if (options.json === true) await terminal.printJson(post)
          else await terminal.print(postLine(post, terminal))
        }
        if (terminal.readerGone.aborted) return
        if (options.all !== true && page.meta?.next_token !== undefined) {
          terminal.note("There are older posts: use --all.")
          return
        }
      }
      if (count === 0) terminal.note("No posts found.")
    })
}

async function notShown({ errors }: PostsPage): Promise<Failure> {
  const { problemText } = await import("@sluice/client")
  const problem = problemText({ errors })
  return new Failure(problem?.message ?? "The posts cannot be shown.", problem?.details)
}

function postLine(post: NonNullable<PostsPage["data"]>[number], { style, columns }: Terminal): string {
  const id = terminalText(post.id, 19).padEnd(19)
  const at = shortInstant(terminalText(post.created_at ?? "", 24))
  const room = Math.max(columns - 19 - at.length - 4, 20)
  return `${style.strong(id)}  ${style.faint(at)}  ${terminalText(post.text, room)}`
}
