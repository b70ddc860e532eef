import { useEffect, useState } from "react"
import { fragmentOf, type SharedState } from "./shared-state.ts"

/** Time from the last change until the link is made, in ms: browsers bound how often an address changes. */
const settleMs = 400

/** The link of a state: being made, made, or too long. */
export type StateLink =
  | { readonly kind: "pending" }
  | { readonly kind: "link"; readonly url: string }
  | { readonly kind: "tooLong" }

/** The link of the state, which also becomes the address of the page; one that is too long does not. */
export function useLink(state: SharedState): StateLink {
  const [made, setMade] = useState<{ readonly of: SharedState; readonly link: StateLink }>()
  useEffect(() => {
    let isCurrent = true
    const make = async (): Promise<void> => {
      const fragment = await fragmentOf(state)
      if (!isCurrent) return
      const url = location.href.replace(/#.*$/s, "") + (fragment ?? "")
      history.replaceState(null, "", url)
      setMade({ of: state, link: fragment === undefined ? { kind: "tooLong" } : { kind: "link", url } })
    }
    const timer = setTimeout(() => void make(), settleMs)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [state])
  return made?.of === state ? made.link : { kind: "pending" }
}
