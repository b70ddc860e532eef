/** Requests to the paths of X that Sluice does not offer: which of them a path is. */
import { notOffered, type NotOffered } from "@sluice/api"

/** The entry that has this path; absent for a path of any other kind. */
export function notOfferedAt(path: string): NotOffered | undefined {
  return notOffered.find(({ paths }) => paths.some((pattern) => isAt(path, pattern)))
}

/** Paths without a part that may be any: a router may take such a path for one with an id in its place. */
export const namesNotOffered: ReadonlySet<string> = new Set(
  notOffered
    .flatMap(({ paths }) => paths)
    .map((path) => path.replace(/\/\*$/, ""))
    .filter((path) => !path.includes(":")),
)

function isAt(path: string, pattern: string): boolean {
  const isOpen = pattern.endsWith("/*")
  const expected = (isOpen ? pattern.slice(0, -"/*".length) : pattern).split("/")
  const given = path.split("/")
  return (
    (isOpen ? given.length >= expected.length : given.length === expected.length) &&
    expected.every((part, index) => part.startsWith(":") || part === given[index])
  )
}
