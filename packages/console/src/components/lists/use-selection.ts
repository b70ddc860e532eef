import { useCallback, useState } from "react"

/** The selected rows of a list, by their keys. */
export interface Selection {
  readonly keys: ReadonlySet<string>
  readonly toggle: (key: string) => void
  readonly clear: () => void
}

/** A selection, empty at first. */
export function useSelection(): Selection {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const clear = useCallback(() => setKeys(new Set()), [])
  const toggle = useCallback((key: string) => {
    setKeys((before) => {
      const after = new Set(before)
      if (!after.delete(key)) after.add(key)
      return after
    })
  }, [])
  return { keys, toggle, clear }
}
