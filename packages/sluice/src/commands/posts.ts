/** `sluice posts`: prints a user's posts, page by page, or posts by their ids; writes and deletes posts. */
import type { Command } from "commander"
import { connect, withConnectionOptions, type ClientOptions } from "../connection/connection.ts"
import { Failure } from "../process/failure.ts"
import { printPost } from "../terminal/post-line.ts"
import { printResult, type CommandContext } from "../terminal/terminal.ts"
import { terminalText } from "../terminal/terminal-text.ts"
import { idOf } from "./option-values.ts"

interface PostsOptions extends ClientOptions {
  readonly all?: true
  readonly exclude?: string
}

interface CreateOptions extends ClientOptions {
  readonly text: string
  readonly replyTo?: string
  readonly quote?: string
  readonly edit?: string
}

const postId = idOf("a post")

const postIds = (id: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  postId(id),
]

/** Ids of one request, the most that the server takes. */
const idsPerRequest = 100

/** The command's options and action. */
export function postsCommand(command: Command, { terminal, environment }: CommandContext): void {
  withConnectionOptions(command.command("get"))
    .description("Print posts by their ids, in the order of these")
    .argument("<ids...>", "Ids of the posts", postIds)
    .option("--json", "Print one line of JSON for each post")
    .action(async (ids: readonly string[], _own: ClientOptions, get: Command) => {
      // `sluice posts` has the same options, and takes them wherever they stand.
      const options = get.optsWithGlobals<ClientOptions>()
      const client = await connect(options, environment)
      let count = 0
      for (let from = 0; from < ids.length; from += idsPerRequest) {
        const query = { ids: ids.slice(from, from + idsPerRequest), "tweet.fields": "created_at" }
        const { data = [], errors } = await client.request("GET", "postsById", { query })
        for (const post of data) await printPost(post, options.json, terminal)
        count += data.length
        if (errors === undefined) continue
        if (count === 0 && from + idsPerRequest >= ids.length) throw await notShown(errors)
        for (const { detail } of errors) terminal.note(terminalText(detail, 200))
      }
    })

  withConnectionOptions(command.command("create"))
    .description("Write a post as the user of the token, or as the app's own user")
    .requiredOption("--text <text>", "Text of the post")
    .option("--reply-to <id>", "Answer the post with this id", postId)
    .option("--quote <id>", "Quote the post with this id", postId)
    .option("--edit <id>", "Write a newer version of the post with this id", postId)
    .option("--json", "Print the response as JSON")
    .action(async (_own: CreateOptions, create: Command) => {
      const options = create.optsWithGlobals<CreateOptions>()
      const { text, replyTo, quote, edit } = options
      const client = await connect(options, environment)
      const body = {
        text,
        ...(replyTo !== undefined && { reply: { in_reply_to_tweet_id: replyTo } }),
        ...(quote !== undefined && { quote_tweet_id: quote }),
        ...(edit !== undefined && { edit_options: { previous_post_id: edit } }),
      }
      const { data } = await client.request("POST", "postsById", { body })
      await printResult(terminal, options.json, data, data.id)
    })

  withConnectionOptions(command.command("delete"))
    .description("Delete posts by their ids, with an operator's or an ingest token")
    .argument("<ids...>", "Ids of the posts", postIds)
    .option("--json", "Print the response as JSON")
    .action(async (ids: readonly string[], _own: ClientOptions, remove: Command) => {
      const options = remove.optsWithGlobals<ClientOptions>()
      const client = await connect(options, environment, "ingest")
      const { data } = await client.request("POST", "deletions", { body: { post_ids: [...ids] } })
      await printResult(terminal, options.json, data, `${data.posts_deleted} deleted`)
    })

  withConnectionOptions(command)
    .argument("<user>", "Id of the user", idOf("a user"))
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
        if (page.errors !== undefined && page.data === undefined) throw await notShown(page.errors)
        for (const post of page.data ?? []) {
          count += 1
          await printPost(post, options.json, terminal)
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

async function notShown(errors: readonly object[]): Promise<Failure> {
  const { problemText } = await import("@sluice/client")
  const problem = problemText({ errors })
  return new Failure(problem?.message ?? "The posts cannot be shown.", problem?.details)
}
