import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { Playground } from "./playground.tsx"
import { openFragment } from "./shared-state.ts"

const element = document.getElementById("root")
if (element === null) throw new Error("The page has no element #root.")
const root = createRoot(element)
let openings = 0

/** Shows the state of the address. An earlier state that is still being read is dropped. */
async function open(): Promise<void> {
  openings += 1
  const opening = openings
  const opened = await openFragment(location.hash)
  if (opening !== openings) return
  root.render(
    <StrictMode>
      <Playground key={opening} opened={opened} />
    </StrictMode>,
  )
}

// Another link, opened in the same page.
addEventListener("hashchange", () => void open())
await open()
