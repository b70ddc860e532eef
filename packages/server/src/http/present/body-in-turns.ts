/** Characters that are made before others have their turn; the last item may go over it. Ours: about a millisecond. */
const turnCharactersMax = 131_072

/**
 * JSON text of a body, as bytes, whose lists may be long. They are made in turns: of a thousand long rules or errors
 * it is megabytes, for which everybody else would wait. Members that are undefined are left out.
 */
export async function presentInTurns(body: object, nextTurn: () => Promise<void>): Promise<Buffer> {
  const parts: Buffer[] = []
  let text = ""
  for (const [name, member] of Object.entries(body)) {
    if (member === undefined) continue
    text += `${parts.length === 0 && text === "" ? "{" : ","}${JSON.stringify(name)}:`
    if (!Array.isArray(member)) {
      text += JSON.stringify(member)
      continue
    }
    text += "["
    for (const [at, item] of member.entries()) {
      text += (at === 0 ? "" : ",") + JSON.stringify(item)
      if (text.length < turnCharactersMax) continue
      parts.push(Buffer.from(text))
      text = ""
      await nextTurn()
    }
    text += "]"
  }
  parts.push(Buffer.from(parts.length === 0 && text === "" ? "{}" : `${text}}`))
  return Buffer.concat(parts)
}
