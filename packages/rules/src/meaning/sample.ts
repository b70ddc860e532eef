/** The sample of `sample:`. */

/**
 * True if the post with the id is in a sample of so many per cent. The result depends on the id alone, and a larger
 * sample contains every smaller one. Ours: FNV-1a over the id, with the finaliser of MurmurHash3.
 */
export function isSampled(id: string, percent: number): boolean {
  let hash = 0x811c9dc5
  for (let index = 0; index < id.length; index++) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % 100 < percent
}
