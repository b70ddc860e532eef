/** Decides whether a token is of a kind that a command may use, by what is known before the request or by its refusal. */
import type { TokenKind } from "./context-files.ts"

/** The place from which a command took its token. */
export type TokenPlace =
  | { readonly kind: "context"; readonly name: string }
  /** The credentials of `sluice dev`. */
  | { readonly kind: "dev"; readonly file: string }
  /** An option, a variable, a file or the standard input. */
  | { readonly kind: "given"; readonly name: string }

/** The place in a sentence: "the token of …". */
export function placeText(place: TokenPlace): string {
  if (place.kind === "context") return `the context ${place.name}`
  return place.kind === "dev" ? place.file : place.name
}

/** The role in which a command sends requests. The server alone decides which tokens an `app` role takes. */
export type Role = "app" | "ingest" | "operator"

/** Kinds of tokens, by X's names for them and ours. The first of several that fit is the one to create. */
const namesOfKinds = {
  app: "OAuth 2.0 Application-Only",
  user: "OAuth 2.0 User Context",
  ingest: "Ingest Token",
  operator: "Operator Token",
} as const

type Kind = keyof typeof namesOfKinds

const kinds = Object.keys(namesOfKinds) as readonly Kind[]

const kindsOfRoles = { ingest: ["ingest", "operator"], operator: ["operator"] } as const

const kindsOfContexts: Readonly<Record<TokenKind, readonly Kind[]>> = {
  app: ["app"],
  operator: ["operator"],
  other: ["user", "ingest"],
}

/** The facts about a token and its use: a context with the role of a command, or the words of a server. */
export type TokenUse =
  | { readonly by: "role"; readonly role: Role; readonly held: TokenKind }
  | { readonly by: "response"; readonly detail: string }

/** Text for the user: a message, and hints on the next step. */
interface Misfit {
  readonly message: string
  readonly hints: readonly string[]
}

/** Says that a token is of another kind than is needed; `undefined` when nothing shows that. */
export function tokenMisfit(use: TokenUse, place: TokenPlace): Misfit | undefined {
  const [kind, ...others] = neededInstead(use)
  if (kind === undefined) return undefined
  const needed = [kind, ...others].map((one) => `a token of kind ${one}`).join(" or ")
  const create = kind === "app" ? "sluice app create NAME" : `sluice token create --kind ${kind}`
  const next =
    place.kind === "context"
      ? "Save it with `sluice login`, or choose another context with --context."
      : "Name it by SLUICE_TOKEN or --token-file."
  return {
    message: `The token of ${placeText(place)} may not do this: it takes ${needed}.`,
    hints: [`On the machine of the server, \`${create}\` creates one. ${next}`],
  }
}

/** The kinds of which one is needed instead of the token's own; none when nothing shows that. */
function neededInstead(use: TokenUse): readonly Kind[] {
  if (use.by === "response") {
    const supported = /Supported authentication types are \[(.*)\]/.exec(use.detail)?.[1] ?? ""
    return kinds.filter((kind) => supported.includes(namesOfKinds[kind]))
  }
  if (use.role === "app") return []
  const needed: readonly Kind[] = kindsOfRoles[use.role]
  return kindsOfContexts[use.held].some((kind) => needed.includes(kind)) ? [] : needed
}
