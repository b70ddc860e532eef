/**
 * Copies a text to the clipboard. False when the browser does not allow it.
 *
 * Pages over plain HTTP have no `navigator.clipboard`, unless they are of this machine: there a selected text is copied.
 * Source: W3C Clipboard API, "Secure Contexts".
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copySelected(text)
  }
}

function copySelected(text: string): boolean {
  const focused = document.activeElement
  const field = document.createElement("textarea")
  field.value = text
  // The page does not scroll to a field that takes no place in it.
  field.style.position = "fixed"
  // A field outside an open dialog takes no focus.
  const place = document.querySelector("dialog:modal") ?? document.body
  place.append(field)
  field.select()
  try {
    // oxlint-disable-next-line typescript/no-deprecated -- nothing else copies over plain HTTP
    return document.execCommand("copy")
  } finally {
    field.remove()
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  }
}
