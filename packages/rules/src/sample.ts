/** The sample that `sample:` takes. */

/**
 * Whether the post is among so many of a hundred. The same post gives the same answer everywhere and always, and
 * a larger sample holds every smaller one. Ours: FNV-1a over the id, its bits mixed as MurmurHash3 does at the end.
 */
export function isSampled(id: string, percent: number): boolean {
  let hash = 0x811c9dc5
  for (let index = 0; index < id.length; index++) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % 100 < percent
}
