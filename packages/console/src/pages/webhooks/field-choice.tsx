/** The fields and expansions of a link's deliveries. */
import { expansions, mediaFields, placeFields, pollFields, postFields, userFields } from "@sluice/api/fields"
import type { ReactNode } from "react"
import { Checkbox } from "../../components/checkbox.tsx"
import { Muted } from "../../components/muted.tsx"
import styles from "./field-choice.module.css"

const groups = [
  { parameter: "expansions", title: "Related objects (expansions)", names: expansions },
  { parameter: "tweet.fields", title: "Fields of posts", names: postFields },
  { parameter: "user.fields", title: "Fields of users", names: userFields },
  { parameter: "media.fields", title: "Fields of media", names: mediaFields },
  { parameter: "place.fields", title: "Fields of places", names: placeFields },
  { parameter: "poll.fields", title: "Fields of polls", names: pollFields },
] as const

type Parameter = (typeof groups)[number]["parameter"]

/** The chosen names of each query parameter. */
export type ChosenFields = Readonly<Partial<Record<Parameter, readonly string[]>>>

/** The query string of a link with these fields. */
export function queryOf(chosen: ChosenFields): string {
  return groups
    .flatMap(({ parameter }) => {
      const names = chosen[parameter] ?? []
      return names.length === 0 ? [] : [`${parameter}=${names.join(",")}`]
    })
    .join("&")
}

/** A checkbox for each name, folded by group. */
export function FieldChoice({
  chosen,
  onChange,
}: {
  readonly chosen: ChosenFields
  readonly onChange: (chosen: ChosenFields) => void
}): ReactNode {
  return (
    <fieldset className={styles["fields"]}>
      <legend>Fields to deliver in addition to id and text</legend>
      {groups.map(({ parameter, title, names }) => {
        const own = chosen[parameter] ?? []
        const choose = (name: string, isChosen: boolean): void =>
          onChange({ ...chosen, [parameter]: isChosen ? [...own, name] : own.filter((other) => other !== name) })
        return (
          <details key={parameter}>
            <summary>
              {title}
              {own.length > 0 && <Muted>: {own.length} chosen</Muted>}
            </summary>
            <div className={styles["checks"]}>
              {names.map((name) => (
                <Checkbox key={name} isChecked={own.includes(name)} onChange={(isChosen) => choose(name, isChosen)}>
                  <code>{name}</code>
                </Checkbox>
              ))}
            </div>
          </details>
        )
      })}
    </fieldset>
  )
}
