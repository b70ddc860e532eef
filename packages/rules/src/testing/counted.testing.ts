/** Counting the work where measuring the time would be too inaccurate. */

/** The list, and the number of reads of its items so far. */
export function counted<Item>(list: readonly Item[]): {
  readonly list: readonly Item[]
  readonly reads: () => number
} {
  let reads = 0
  const watched = new Proxy(list, {
    get(target, member, receiver) {
      // Only indexes begin with a digit. A regular expression would take longer than everything else.
      if (typeof member === "string" && member.charCodeAt(0) <= 0x39) reads++
      return Reflect.get(target, member, receiver)
    },
  })
  return { list: watched, reads: () => reads }
}
