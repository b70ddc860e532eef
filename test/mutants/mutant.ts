import { parseSync, Visitor, type Node } from "oxc-parser"

/** A fault that is put into the program on purpose, to see that some test finds it. */
export interface Mutant {
  /** How the program is wrong then. */
  readonly name: string
  /** From the root of the repository. */
  readonly file: string
  readonly changes: readonly Change[]
  /** Test files that are run, any of which may find it. From the root of the repository. */
  readonly tests: readonly string[]
}

/** A change within one declaration of the file. Layout and comments do not count. */
interface Change {
  /** The function, method (`Class.method`), class, constant or member that is changed; absent for the whole file. */
  readonly within?: string | undefined
  /** Code that stands in it exactly once. */
  readonly from: string
  /** The code that takes its place. */
  readonly to: string
}

/** A stretch of a text. */
interface Range {
  readonly start: number
  readonly end: number
}

/** Applies the changes one after the other. Throws when one does not fit exactly once: then the list is stale. */
export function mutate(source: string, { name, file, changes }: Mutant): string {
  let mutated = source
  for (const { within, from, to } of changes) {
    const places = placesOf(from, file, mutated, within)
    const [place] = places
    if (place === undefined || places.length > 1) {
      const where = within === undefined ? file : `${within} in ${file}`
      throw new Error(`"${name}": ${where} has this ${places.length} times instead of once:\n${from}`)
    }
    mutated = mutated.slice(0, place.start) + to.trim() + mutated.slice(place.end)
  }
  return mutated
}

/** Every declaration of a file that has a name, with its class before a dot for a method or a member. */
function declarationsOf(file: string, source: string): readonly (Range & { readonly name: string })[] {
  const found: (Range & { readonly name: string })[] = []
  const classes: string[] = []
  const add = (name: string | undefined, { start, end }: Range): void => {
    if (name !== undefined) found.push({ name, start, end })
  }
  const addMember = (node: Range & { readonly key: Node }): void => {
    const { key } = node
    const name = key.type === "Identifier" ? key.name : key.type === "PrivateIdentifier" ? `#${key.name}` : undefined
    const owner = classes.at(-1)
    add(owner === undefined || name === undefined ? name : `${owner}.${name}`, node)
  }
  new Visitor({
    FunctionDeclaration: (node) => add(node.id?.name, node),
    VariableDeclarator: (node) => add(node.id.type === "Identifier" ? node.id.name : undefined, node),
    ClassDeclaration: (node) => {
      add(node.id?.name, node)
      classes.push(node.id?.name ?? "")
    },
    "ClassDeclaration:exit": () => void classes.pop(),
    MethodDefinition: addMember,
    PropertyDefinition: addMember,
    Property: (node) => {
      if (node.key.type === "Identifier") add(node.key.name, node)
    },
  }).visit(parseSync(file, source).program)
  return found
}

/** The ranges of the code `from`, in one declaration or anywhere. */
function placesOf(from: string, file: string, source: string, within: string | undefined): readonly Range[] {
  const wanted = tokensOf(from, [])
  const tokens = tokensOf(source, parseSync(file, source).comments)
  const ranges =
    within === undefined
      ? [{ start: 0, end: source.length }]
      : declarationsOf(file, source).filter(({ name }) => name === within)
  return ranges.flatMap((range) => {
    const inside = tokens.filter(({ start, end }) => start >= range.start && end <= range.end)
    return inside.flatMap(({ start }, at) => {
      const last = inside[at + wanted.length - 1]
      const isThere = last !== undefined && wanted.every(({ text }, index) => inside[at + index]?.text === text)
      return isThere ? [{ start, end: last.end }] : []
    })
  })
}

/** The words and signs of a text, without those of comments. The content of a string counts as code does. */
function tokensOf(text: string, comments: readonly Range[]): readonly (Range & { readonly text: string })[] {
  let code = text
  for (const { start, end } of comments) code = code.slice(0, start) + " ".repeat(end - start) + code.slice(end)
  return [...code.matchAll(/[\w$]+|\S/gu)].map(({ 0: token, index }) => ({
    text: token,
    start: index,
    end: index + token.length,
  }))
}
