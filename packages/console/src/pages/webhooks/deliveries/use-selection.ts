import { useCallback, useState } from "react"

/** Some of the rows of a list, by their keys. */
export interface Selection {
  readonly chosen: ReadonlySet<string>
  readonly toggle: (key: string) => void
  readonly set: (keys: Iterable<string>) => void
}

/** A selection that begins empty. */
export function useSelection(): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const set = useCallback((keys: Iterable<string>) => setChosen(new Set(keys)), [])
  const toggle = useCallback((key: string) => {
    setChosen((before) => {
      const after = new Set(before)
      if (!after.delete(key)) after.add(key)
      return after
    })
  }, [])
  return { chosen, toggle, set }
}
