const [lf, cr, openBrace] = [0x0a, 0x0d, 0x7b]

/**
 * A message's bytes as one line of a body of posts; `undefined` when they are blank, which is no line at all.
 *
 * JSON may have line breaks between its parts. They become CR, which is white space in JSON too and ends no line. A line
 * break within a string is not JSON, and a CR there is not either: such a message is rejected as it would be unchanged.
 */
export function lineOf(message: Uint8Array): Uint8Array | undefined {
  if (isBlank(message)) return undefined
  // A large one has memory of its own, which the intake may take over. Small ones are joined, and share it until then.
  const line = Buffer.allocUnsafe(message.length + 1)
  line.set(message)
  for (let at = line.indexOf(lf); at !== -1 && at < message.length; at = line.indexOf(lf, at + 1)) line[at] = cr
  line[message.length] = lf
  return line
}

/** As the intake sees it: nothing but white space, of any alphabet. */
function isBlank(message: Uint8Array): boolean {
  if (message[0] === openBrace) return false
  return Buffer.from(message.buffer, message.byteOffset, message.length).toString("utf8").trim() === ""
}
