/**
 * The body of a response with posts or users. Their stored texts go into it byte for byte and are never parsed on the way,
 * which `bench/pages.ts` measures for posts. So these bodies are made as text, not as objects.
 */
import type { PageMeta } from "@sluice/api"
import type { Problem } from "../../model/problem.ts"
import { presentErrors } from "../problems.ts"

/** JSON text: `{"data":…,"includes":{…},"meta":{…},"errors":[…]}`, without the members that there are not. */
export function bodyText(parts: {
  readonly dataJson: string | undefined
  readonly includesJson: string | undefined
  readonly meta?: Partial<PageMeta> | undefined
  readonly problems: readonly Problem[]
}): string {
  const { dataJson, includesJson, meta, problems } = parts
  const { errors } = presentErrors(problems)
  const members = [
    ...(dataJson === undefined ? [] : [`"data":${dataJson}`]),
    ...(includesJson === undefined ? [] : [`"includes":${includesJson}`]),
    ...(meta === undefined ? [] : [`"meta":${JSON.stringify(meta)}`]),
    ...(errors === undefined ? [] : [`"errors":${JSON.stringify(errors)}`]),
  ]
  return `{${members.join(",")}}`
}
