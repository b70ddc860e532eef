import type { Operations } from "@sluice/client"
import { shortInstant } from "./table.ts"
import type { Terminal } from "./terminal.ts"
import { terminalText } from "./terminal-text.ts"

type Post = NonNullable<Operations["postById"]["GET"]["response"]["data"]>

/** Prints a post: as one line of JSON if asked to, otherwise its id, its time and its text. */
export async function printPost(post: Post, json: boolean | undefined, terminal: Terminal): Promise<void> {
  if (json === true) await terminal.printJson(post)
  else await terminal.print(postLine(post, terminal))
}

function postLine(post: Post, { style, columns }: Terminal): string {
  const id = terminalText(post.id, 19).padEnd(19)
  const at = shortInstant(terminalText(post.created_at ?? "", 24))
  const room = Math.max(columns - 19 - at.length - 4, 20)
  return `${style.strong(id)}  ${style.faint(at)}  ${terminalText(post.text, room)}`
}
