/**
 * The search field of a document's page: it lists the sections that match, as links. The index is loaded when the field gets
 * the focus for the first time, as a module of the site, because the policy of the page allows no other request.
 */
import { openIndex, type FindSections, type FoundSection } from "./section-index.ts"

/** Most sections that are listed. Further ones are counted. Ours. */
const listedMax = 20

/** An element of the frame of the page. */
function part<Part extends HTMLElement>(selector: string, kind: abstract new () => Part): Part {
  const found = document.querySelector(selector)
  if (found instanceof kind) return found
  throw new Error(`The page has no ${selector}.`)
}

const search = part(".site-search", HTMLElement)
const field = part(".site-search input", HTMLInputElement)
const panel = part(".site-search-panel", HTMLElement)
const note = part(".site-search-note", HTMLElement)
const list = part(".site-search-panel ol", HTMLElement)
// Screen readers announce changes of an element that is there all the time, which the panel is not.
const status = part(".site-search [role=status]", HTMLElement)

const linksOf = (): readonly HTMLElement[] => [...list.querySelectorAll("a")]

let loading: Promise<FindSections> | undefined

async function loadIndex(): Promise<FindSections> {
  const { default: text } = await import("virtual:search-index")
  return openIndex(text)
}

async function show(): Promise<void> {
  const query = field.value.trim()
  if (query === "") return close()
  loading ??= loadIndex()
  try {
    const find = await loading
    // A later query is shown by its own call.
    if (field.value.trim() === query && search.contains(document.activeElement)) open(find(query), query)
  } catch {
    openPanel([], "The index could not be loaded. Reload the page.")
  }
}

function open(found: readonly FoundSection[], query: string): void {
  const { length: count } = found
  const listed = found.slice(0, listedMax)
  const sections = count === 1 ? "1 section" : `${count} sections`
  const text = count > listedMax ? `The first ${listedMax} of ${sections}` : sections
  openPanel(listed, count === 0 ? `No section has ${query}.` : text)
}

function openPanel(found: readonly FoundSection[], text: string): void {
  list.replaceChildren(...found.map(itemOf))
  panel.scrollTop = 0
  panel.hidden = false
  for (const one of [note, status]) one.textContent = text
}

function close(): void {
  panel.hidden = true
  status.textContent = ""
}

function itemOf({ id, page, heading }: FoundSection): HTMLElement {
  const [item, link, first, second] = ["li", "a", "span", "span"].map((name) => document.createElement(name))
  if (!(item && link instanceof HTMLAnchorElement && first && second)) throw new Error("No element was made.")
  link.href = `${search.dataset["root"] ?? ""}${id}`
  first.textContent = heading
  // The section of a title stands for its page.
  second.textContent = heading === page ? id.replace(/#.*$/, "") : page
  link.append(first, second)
  item.append(link)
  return item
}

/** Moves the focus by one among the field and the links. */
function moveFocus(by: 1 | -1): void {
  const stops = [field, ...linksOf()]
  const at = stops.indexOf(document.activeElement as HTMLElement)
  stops[Math.min(Math.max(at + by, 0), stops.length - 1)]?.focus()
}

search.addEventListener("keydown", (event) => {
  if (panel.hidden) return
  const { key, target } = event
  if (key === "ArrowDown") moveFocus(1)
  else if (key === "ArrowUp") moveFocus(-1)
  else if (key === "Enter" && target === field) linksOf()[0]?.click()
  else if (key === "Escape") {
    field.focus()
    close()
  } else return
  event.preventDefault()
})
search.addEventListener("focusout", ({ relatedTarget }) => {
  if (!(relatedTarget instanceof Node) || !search.contains(relatedTarget)) close()
})
// A link to a section of this page leaves the page as it is, in some browsers with the focus.
list.addEventListener("click", close)
field.addEventListener("input", () => void show())
field.addEventListener("focus", () => {
  loading ??= loadIndex()
  // Shown when something is typed.
  loading.catch(() => undefined)
})
field.addEventListener("click", () => void show())
search.hidden = false
