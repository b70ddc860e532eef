/** Subjects of NATS: tokens with dots between them. */

/**
 * Whether messages of `subject` are among those of `pattern`, in which `*` stands for one token and `>` at the end for one
 * or more.
 *
 * Source: NATS documentation, "Subject-based messaging", wildcards.
 */
export function subjectMatches(pattern: string, subject: string): boolean {
  const [wanted, tokens] = [pattern.split("."), subject.split(".")]
  if (wanted.at(-1) === ">") {
    const head = wanted.slice(0, -1)
    return tokens.length > head.length && head.every((token, at) => token === "*" || token === tokens[at])
  }
  return wanted.length === tokens.length && wanted.every((token, at) => token === "*" || token === tokens[at])
}
