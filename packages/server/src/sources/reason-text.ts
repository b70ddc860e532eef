import { withoutSecrets } from "./known-secrets.ts"

/** Most characters of a text of a dead letter, which may quote the message. Ours. */
const charactersMax = 500

/** A text of a dead letter on one line: a reason may quote the message, with line breaks and other control characters. No secret is in it. */
export function reasonText(text: string): string {
  return withoutSecrets(text)
    .slice(0, charactersMax)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, " ")
}
