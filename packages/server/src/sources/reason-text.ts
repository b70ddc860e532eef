/** Most characters of a text of a dead letter, which may quote the message. Ours. */
const charactersMax = 500

/** A text of a dead letter on one line: a reason may quote the message, with line breaks and other control characters. */
export function reasonText(text: string): string {
  return text
    .slice(0, charactersMax)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, " ")
}
