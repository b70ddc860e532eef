/** Stands for a secret that is not shown. */
export const mask = "********"

/**
 * Masks the parts of a URL that may hold passwords and keys: before an `@`, and after a `?` or `#`. Text that is not a
 * URL is treated alike, since a URL may have been intended.
 */
export function withoutCredentials(text: string): string {
  return text.replace(/([?#]).+$/s, `$1${mask}`).replace(/^([^/@]*:?\/\/)?.+@/s, `$1${mask}@`)
}
