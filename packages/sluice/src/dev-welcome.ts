import type { SavedCredentials } from "./credentials-file.ts"
import type { Style } from "./terminal.ts"

/** What `sluice dev` says when it is ready. Every curl line works as it stands, in the order given. */
export function devWelcome(
  { url, app, operator_token: operatorToken }: SavedCredentials,
  file: string,
  style: Style,
): string[] {
  const bearer = `-H "Authorization: Bearer ${app.bearer_token}"`
  const json = `-H "Content-Type: application/json"`
  const heading = (text: string): string => style.strong(text)
  return [
    "",
    `${style.strong("Sluice")} is ready at ${style.good(url)}`,
    "",
    `  bearer token     ${app.bearer_token}`,
    `  consumer key     ${app.consumer_key}`,
    `  consumer secret  ${app.consumer_secret}`,
    `  operator token   ${operatorToken}`,
    style.faint(`  kept in ${file}, where the other commands find them`),
    "",
    heading("Say what you want:"),
    `curl -X POST ${url}/2/tweets/search/stream/rules ${bearer} ${json} -d '{"add":[{"value":"cat OR \\"night market\\"","tag":"first rule"}]}'`,
    "",
    heading("Pour a post in:"),
    `curl -X POST ${url}/sluice/v1/posts ${bearer} -H "Content-Type: application/x-ndjson" -d '{"data":{"id":"1","text":"A cat at the gate","author_id":"7"}}'`,
    "",
    heading("Watch the matches (the last five minutes, then live):"),
    `curl -N "${url}/2/tweets/search/stream?backfill_minutes=5" ${bearer}`,
    "",
    heading("A user's posts, page by page:"),
    `curl "${url}/2/users/7/tweets?max_results=10" ${bearer}`,
    "",
    heading("The webhook links of the stream:"),
    `curl ${url}/2/tweets/search/webhooks ${bearer}`,
    "",
    style.faint("The same by command, in another terminal: npx sluice --help. Ctrl-C ends the server."),
  ]
}
