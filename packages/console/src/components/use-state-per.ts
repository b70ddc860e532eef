import { useState } from "react"

/** State that begins anew, without a render of the old one, whenever the key is another. */
export function useStatePer<Key, State>(
  key: Key,
  initial: (key: Key) => State,
): readonly [state: State, setState: (state: State) => void] {
  const [held, setHeld] = useState(() => ({ key, state: initial(key) }))
  const current = Object.is(held.key, key) ? held : { key, state: initial(key) }
  if (current !== held) setHeld(current)
  return [current.state, (state) => setHeld({ key, state })]
}
