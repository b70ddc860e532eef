/**
 * Drafts: text that is lost when its page is left. Closing the page asks in the browser's own words, another page of the
 * console in a dialog. The browser's buttons Back and Forward do not ask: they change the address before the page knows.
 */
import { createContext, useCallback, useContext, useEffect, useRef, useState, type ReactNode } from "react"
import { Router, type AroundNavHandler } from "wouter"
import { Confirm } from "./dialog.tsx"

/** Notes whether there is a draft. */
const DraftContext = createContext<((hasDraft: boolean) => void) | undefined>(undefined)

/** The router of its children, below `base`; asks before it leads away from a draft. */
export function DraftRouter({ base, children }: { readonly base: string; readonly children: ReactNode }): ReactNode {
  const draftRef = useRef(false)
  const noteDraft = useCallback((hasDraft: boolean) => {
    draftRef.current = hasDraft
  }, [])
  const [leave, setLeave] = useState<() => void>()
  const aroundNav = useCallback<AroundNavHandler>((navigate, to, options) => {
    const isElsewhere = new URL(to, location.href).pathname !== location.pathname
    if (draftRef.current && isElsewhere) setLeave(() => () => navigate(to, options))
    else navigate(to, options)
  }, [])
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent): void => {
      if (draftRef.current) event.preventDefault()
    }
    addEventListener("beforeunload", ask)
    return () => removeEventListener("beforeunload", ask)
  }, [])
  return (
    <Router base={base} aroundNav={aroundNav}>
      <DraftContext value={noteDraft}>{children}</DraftContext>
      {leave !== undefined && (
        <Confirm
          onClose={() => setLeave(undefined)}
          title="Discard your changes?"
          action="Discard"
          isBusy={false}
          error={null}
          onConfirm={() => {
            setLeave(undefined)
            leave()
          }}
        >
          They have not been saved.
        </Confirm>
      )}
    </Router>
  )
}

/**
 * Asks before the page is left while it `isChanged`. The returned function ends the draft: its text is saved, or its
 * subject deleted.
 */
export function useDraft(isChanged: boolean): () => void {
  const noteDraft = useContext(DraftContext)
  if (noteDraft === undefined) throw new Error("useDraft is called outside a DraftRouter")
  useEffect(() => {
    noteDraft(isChanged)
    return () => noteDraft(false)
  }, [isChanged, noteDraft])
  return useCallback(() => noteDraft(false), [noteDraft])
}
