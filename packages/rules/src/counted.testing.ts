/** Work, counted where time would be too rough. */

/** The list, and how often one of its items was asked for. */
export function counted<Item>(list: readonly Item[]): {
  readonly list: readonly Item[]
  readonly looks: () => number
} {
  let looks = 0
  const watched = new Proxy(list, {
    get(target, member, receiver) {
      // Only numbers begin with a digit; a regular expression would take longer than all the rest.
      if (typeof member === "string" && member.charCodeAt(0) <= 0x39) looks++
      return Reflect.get(target, member, receiver)
    },
  })
  return { list: watched, looks: () => looks }
}
