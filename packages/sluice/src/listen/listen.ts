/** A listener with its registration, from the first challenge to the cleanup. */
import type { Client } from "@sluice/client"
import type { AppSecrets } from "../connection/connection.ts"
import { Failure, messageOf } from "../process/failure.ts"
import { deliveryLine } from "../terminal/delivery-line.ts"
import { counted } from "../terminal/table.ts"
import { messageText, type Terminal } from "../terminal/terminal.ts"
import type { Faults } from "./faults.ts"
import type { LocalEndpoint } from "../process/local-endpoint.ts"
import { startListener, type ReceivedDelivery } from "./listener.ts"
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

/** The settings of `sluice listen`. */
export interface ListenSettings {
  readonly faults: Faults
  readonly forwardTo: string | undefined
  readonly rules: readonly string[]
  /** 0 for a free one. */
  readonly port: number
  /** Keeps the registration for the next listener. */
  readonly isKept: boolean
  /** Prints deliveries as JSON. */
  readonly isJson: boolean
}

/** The rule of an app without rules: a word for which `sluice trigger` generates a post. Ours. */
const firstRule = "sluice"

/** Listens until the signal, then removes the registration unless it is kept. */
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
  if (removed > 0) terminal.note(`Removed the registrations of ${String(removed)} interrupted \`listen\`.`)
  const { path, tag } = listenerName(isKept)
  const keys = new SigningKeys(client)
  await using listener = await startOn({ ...settings, port: settings.port || (kept?.port ?? 0) }, path, {
    secrets: () => ({ consumerSecret, clientSecret, signingKeys: keys.known }),
    terminal,
    onRefusal(reason) {
      terminal.note(`Rejected a delivery: ${messageText(reason)}.`)
      void keys.refresh()
    },
  })
  if (kept !== undefined && !listener.url.includes(`:${String(kept.port)}/`)) {
    throw new Failure(`An earlier \`listen --keep\` is registered on port ${String(kept.port)}.`, [
      `Use that port, or delete its webhook: sluice webhooks delete ${kept.webhookId}`,
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
): Promise<LocalEndpoint> {
  const { terminal, ...receiving } = parts
  const onDelivery = (delivery: ReceivedDelivery): Promise<void> =>
    isJson ? terminal.printJson(presented(delivery)) : terminal.print(deliveryLine(delivery, terminal))
  return startListener({ port, faults, forwardTo, path, onDelivery, ...receiving }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE" && error.code !== "EACCES") throw error
      throw new Failure(`Cannot listen on port ${String(port)}: ${messageOf(error)}.`, [
        "Choose another port with --port; without it, a free port is used.",
      ])
    },
  )
}

/** The keys of the Standard Webhooks signature; after a rotation, deliveries are signed with both for a while. */
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

  /** Reads the key again after a rejected delivery: it may have been rotated. The delivery is retried. */
  async refresh(): Promise<void> {
    if (this.#webhookId === undefined || this.#isRefreshing) return
    this.#isRefreshing = true
    try {
      this.known = [await signingKeyOf(this.#client, this.#webhookId)]
    } catch {
      // The server is unavailable; the next rejected delivery tries again.
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
  { url }: LocalEndpoint,
  { rules, forwardTo }: ListenSettings,
  terminal: Terminal,
): void {
  const { noteStyle } = terminal
  terminal.note(`Listening at ${noteStyle.good(url)}, webhook ${noteStyle.strong(webhookId)}. Ctrl-C stops.`)
  if (forwardTo !== undefined) terminal.note(`Forwarding deliveries to ${messageText(forwardTo)}.`)
  for (const rule of rules) {
    terminal.note(`Rule: ${messageText(rule)}${known.includes(rule) ? " (already a rule of the app)" : ""}`)
  }
  terminal.note("To send a matching post, run in another terminal: sluice trigger")
}

async function end(client: Client, registration: Registration, isKept: boolean, terminal: Terminal): Promise<void> {
  const { webhookId, ruleIds } = registration
  const rules = counted(ruleIds.length, "rule")
  const added = `webhook ${webhookId}${ruleIds.length === 0 ? " and its link" : `, its link and ${rules}`}`
  if (isKept) {
    terminal.note(`Kept ${added}. The next \`listen --keep\` receives the matches until then.`)
    return
  }
  try {
    await unregister(client, registration)
    terminal.note(`Removed ${added}.`)
  } catch (error) {
    terminal.note(`Could not remove ${added}: ${messageText(messageOf(error))} The next \`sluice listen\` removes it.`)
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))
}

/** A delivery in the form of `--json`. */
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
