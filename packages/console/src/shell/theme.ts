/** The theme: light, dark, or the system's; stored in the browser. `public/theme.js` applies it before the first paint. */
import { useState } from "react"

/** The choices. */
export const themes = ["system", "light", "dark"] as const
export type Theme = (typeof themes)[number]

const storageKey = "sluice.theme"

/** The chosen theme, and a function that changes it. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    const chosen = document.documentElement.dataset["theme"]
    return chosen === "light" || chosen === "dark" ? chosen : "system"
  })
  const choose = (next: Theme): void => {
    setTheme(next)
    if (next === "system") delete document.documentElement.dataset["theme"]
    else document.documentElement.dataset["theme"] = next
    remember(storageKey, next === "system" ? undefined : next)
  }
  return [theme, choose]
}

/** Stores a text in the browser; `undefined` removes it. Without permission to store, it lasts as long as the page. */
export function remember(key: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(key)
    else localStorage.setItem(key, value)
  } catch {
    // The choice is lost when the page closes.
  }
}

/** A text stored in the browser. */
export function remembered(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}
