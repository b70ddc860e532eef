/**
 * Secrets that sources of this process have read, so that no message shows one.
 *
 * The other side may repeat in an error what it was sent: Redis and proxies before it name the arguments of a command that
 * they refuse, and an error of HTTP may repeat a header. All sources share the secrets, since a message is masked where no
 * one knows whose it is.
 */
import { mask } from "../runtime/masked-url.ts"

/** Most secrets that are remembered: a file is read for each connection, and may change. Ours. */
const secretsMax = 1_000

/** A shorter text would be masked in the middle of words. Ours. */
const charactersMin = 4

/** Each secret as it is written in commands, in URLs and in headers. */
const forms = new Map<string, readonly string[]>()

/** Remembers a secret. Returns it. */
export function remembered(secret: string): string {
  if (secret.length < charactersMin) return secret
  // Behind the others: one that is in use is not forgotten.
  forms.delete(secret)
  forms.set(secret, [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64")])
  for (const [oldest] of forms) {
    if (forms.size <= secretsMax) break
    forms.delete(oldest)
  }
  return secret
}

/** The text with every secret masked. */
export function withoutSecrets(text: string): string {
  let shown = text
  for (const form of [...forms.values()].flat()) shown = shown.replaceAll(form, mask)
  return shown
}

/** The report with every secret masked in its texts: what a source reports of the other side passes here before it is shown or kept. */
export function withoutSecretsIn<Report extends object>(report: Report): Report {
  const shown = Object.entries(report).map(([member, value]: [string, unknown]) => [
    member,
    typeof value === "string" ? withoutSecrets(value) : value,
  ])
  return Object.fromEntries(shown) as Report
}
