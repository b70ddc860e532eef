/** A listener with its registration, from the first challenge to the last thing removed. */
import type { Client } from "@sluice/client"
import type { AppSecrets } from "../connection/connection.ts"
import { Failure, messageOf } from "../process/failure.ts"
import { deliveryLine } from "../terminal/delivery-line.ts"
import { messageText, type Terminal } from "../terminal/terminal.ts"
import type { Faults } from "./faults.ts"
import { startListener, type Listener, type ReceivedDelivery } from "./listener.ts"
import {
  findLeftovers,
  keptLeftover,
  listenerName,
  register,
  removeLeftovers,
  signingKeyOf,
  unregister,
  type Registration,
} from "./registration.ts"

/** What to listen with. */
export interface ListenSettings {
  readonly faults: Faults
  readonly forwardTo: string | undefined
  readonly rules: readonly string[]
  /** 0: a free one. */
  readonly port: number
  /** The registration stays, for the next listener. */
  readonly isKept: boolean
  /** Deliveries are printed as JSON. */
  readonly isJson: boolean
}

/** The rule of an app that has none: a word that `sluice trigger` finds. Ours. */
const firstRule = "sluice"

/** Listens until the signal, and removes what it added unless it is to be kept. */
export async function listen(
  settings: ListenSettings,
  { client, consumerSecret, clientSecret }: AppSecrets & { readonly client: Client },
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  const { isKept } = settings
  const leftovers = await findLeftovers(client)
  const kept = isKept ? keptLeftover(leftovers) : undefined
  const removed = await removeLeftovers(client, leftovers)
  if (removed > 0)
    terminal.note(`Removed what ${String(removed)} earlier \`listen\` left, which did not end by itself.`)
  const { path, tag } = listenerName(isKept)
  const keys = new SigningKeys(client)
  await using listener = await startOn({ ...settings, port: settings.port || (kept?.port ?? 0) }, path, {
    secrets: () => ({ consumerSecret, clientSecret, signingKeys: keys.known }),
    terminal,
    onRefusal(reason) {
      terminal.note(`Refused a delivery: ${messageText(reason)}.`)
      void keys.refresh()
    },
  })
  if (kept !== undefined && !listener.url.includes(`:${String(kept.port)}/`)) {
    throw new Failure(`An earlier \`listen --keep\` is registered on port ${String(kept.port)}.`, [
      `Listen on that port, or delete its webhook: sluice webhooks delete ${kept.webhookId}`,
    ])
  }
  const rules = settings.rules.length === 0 && (await hasNoRules(client)) ? [firstRule] : settings.rules
  const registration = await register(client, { url: listener.url, rules, tag, kept })
  keys.begin(registration)
  noteStart(registration, listener, { ...settings, rules }, terminal)
  await aborted(signal)
  await end(client, registration, isKept, terminal)
}

async function startOn(
  { port, faults, forwardTo, isJson }: ListenSettings,
  path: string,
  parts: Pick<Parameters<typeof startListener>[0], "secrets" | "onRefusal"> & { readonly terminal: Terminal },
): Promise<Listener> {
  const { terminal, ...receiving } = parts
  const onDelivery = (delivery: ReceivedDelivery): Promise<void> =>
    isJson ? terminal.printJson(presented(delivery)) : terminal.print(deliveryLine(delivery, terminal))
  return startListener({ port, faults, forwardTo, path, onDelivery, ...receiving }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE" && error.code !== "EACCES") throw error
      throw new Failure(`Port ${String(port)} cannot be listened on: ${messageOf(error)}.`, [
        "Choose another one with --port; without it a free one is taken.",
      ])
    },
  )
}

/** The keys of the Standard Webhooks signature; deliveries are signed under the old one too while they change. */
class SigningKeys {
  readonly #client: Client
  #webhookId: string | undefined
  #isRefreshing = false
  known: readonly string[] = []

  constructor(client: Client) {
    this.#client = client
  }

  begin({ webhookId, signingKey }: Registration): void {
    this.#webhookId = webhookId
    this.known = [signingKey]
  }

  /** The key may have been rotated since. A delivery that was refused comes again. */
  async refresh(): Promise<void> {
    if (this.#webhookId === undefined || this.#isRefreshing) return
    this.#isRefreshing = true
    try {
      this.known = [await signingKeyOf(this.#client, this.#webhookId)]
    } catch {
      // The server is away; the next delivery that is refused is another chance.
    }
    this.#isRefreshing = false
  }
}

async function hasNoRules(client: Client): Promise<boolean> {
  const { data = [] } = await client.request("GET", "rules", { query: { max_results: 1 } })
  return data.length === 0
}

function noteStart(
  { webhookId, known }: Registration,
  { url }: Listener,
  { rules, forwardTo }: ListenSettings,
  terminal: Terminal,
): void {
  const { noteStyle } = terminal
  terminal.note(`Listening at ${noteStyle.good(url)}, webhook ${noteStyle.strong(webhookId)}. Ctrl-C ends it.`)
  if (forwardTo !== undefined) terminal.note(`Deliveries are passed on to ${messageText(forwardTo)}.`)
  for (const rule of rules) {
    terminal.note(`Rule: ${messageText(rule)}${known.includes(rule) ? " (the app has it already)" : ""}`)
  }
  terminal.note("Send a post that matches, in another terminal: sluice trigger")
}

async function end(client: Client, registration: Registration, isKept: boolean, terminal: Terminal): Promise<void> {
  const { webhookId, ruleIds } = registration
  const rules = `${String(ruleIds.length)} ${ruleIds.length === 1 ? "rule" : "rules"}`
  const added = `webhook ${webhookId}${ruleIds.length === 0 ? " and its link" : `, its link and ${rules}`}`
  if (isKept) {
    terminal.note(`Kept ${added}. What matches meanwhile comes with the next \`listen --keep\`.`)
    return
  }
  try {
    await unregister(client, registration)
    terminal.note(`Removed ${added}.`)
  } catch (error) {
    terminal.note(
      `What was added could not be removed: ${messageText(messageOf(error))} The next \`sluice listen\` removes it.`,
    )
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))
}

/** A delivery as `--json` prints it. */
function presented(delivery: ReceivedDelivery): object {
  const { atMs, durationMs, status, eventId, isRepeat, headers, body, note } = delivery
  return {
    at: new Date(atMs).toISOString(),
    status,
    duration_ms: Math.round(durationMs),
    event_id: eventId,
    repeat: isRepeat,
    ...(note !== undefined && { note }),
    headers: Object.fromEntries(headers),
    body: JSON.parse(body) as unknown,
  }
}
