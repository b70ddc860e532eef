/** The order of the places from which a command takes its token. */
import { Failure, WrongUsage } from "../process/failure.ts"

/** The options and variables that choose a token. */
export interface TokenChoice {
  /** An option gives a URL, a token or a token file. */
  readonly isServerOption: boolean
  /** `SLUICE_URL` is set. */
  readonly isUrlVariable: boolean
  /** An option or a variable gives a token. */
  readonly isTokenGiven: boolean
  readonly contextOption: string | undefined
  readonly contextVariable: string | undefined
  /** The option `--data`. */
  readonly dataOption: string | undefined
}

/** A place of a token. */
export type TokenSource =
  | { readonly kind: "given" }
  | { readonly kind: "context"; readonly name: string }
  /** The credentials of `sluice dev`, in the directory of `--data`, of `SLUICE_DATA`, or found from the working directory. */
  | { readonly kind: "dev" }
  | { readonly kind: "current" }

/**
 * The places in which to look for the token, in order; the first that has one counts. Throws `Failure` for `--context`
 * next to what counts before it, since an option must not be without effect.
 */
export function tokenSources(choice: TokenChoice): readonly TokenSource[] {
  const { isServerOption, isUrlVariable, isTokenGiven, contextOption, contextVariable, dataOption } = choice
  if (contextOption !== undefined && (isServerOption || dataOption !== undefined)) {
    throw new WrongUsage("Use either --context, or --url, --token, --token-file or --data, not both.")
  }
  if (contextOption !== undefined && (isTokenGiven || isUrlVariable)) {
    throw new Failure("SLUICE_URL and SLUICE_TOKEN count before --context.", ["Unset them to use the context."])
  }
  if (isTokenGiven) return [{ kind: "given" }]
  if (contextOption !== undefined) return [{ kind: "context", name: contextOption }]
  if (dataOption !== undefined) return [{ kind: "dev" }]
  if (contextVariable !== undefined) return [{ kind: "context", name: contextVariable }]
  return [{ kind: "dev" }, { kind: "current" }]
}
