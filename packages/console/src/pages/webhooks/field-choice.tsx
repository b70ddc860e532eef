/** What deliveries of a link show: expansions, and fields of each kind of object. */
import { expansions, mediaFields, placeFields, pollFields, postFields, userFields } from "@sluice/api/fields"
import type { ReactNode } from "react"
import styles from "./webhooks.module.css"

const groups = [
  { parameter: "expansions", title: "Related objects (expansions)", names: expansions },
  { parameter: "tweet.fields", title: "Fields of posts", names: postFields },
  { parameter: "user.fields", title: "Fields of users", names: userFields },
  { parameter: "media.fields", title: "Fields of media", names: mediaFields },
  { parameter: "place.fields", title: "Fields of places", names: placeFields },
  { parameter: "poll.fields", title: "Fields of polls", names: pollFields },
] as const

type Parameter = (typeof groups)[number]["parameter"]

/** The names that are chosen, by the parameter that chooses them. */
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

/** Checkboxes for all of them, folded by group. */
export function FieldChoice({
  chosen,
  onChange,
}: {
  readonly chosen: ChosenFields
  readonly onChange: (chosen: ChosenFields) => void
}): ReactNode {
  return (
    <fieldset className={styles["fields"]}>
      <legend>What deliveries show beside id and text</legend>
      {groups.map(({ parameter, title, names }) => {
        const of = chosen[parameter] ?? []
        return (
          <details key={parameter}>
            <summary>
              {title}
              {of.length > 0 && <span className={styles["muted"]}>: {of.length} chosen</span>}
            </summary>
            <div className={styles["checks"]}>
              {names.map((name) => (
                <label key={name} className={styles["check"]}>
                  <input
                    type="checkbox"
                    checked={of.includes(name)}
                    onChange={({ target }) =>
                      onChange({
                        ...chosen,
                        [parameter]: target.checked ? [...of, name] : of.filter((other) => other !== name),
                      })
                    }
                  />
                  <code>{name}</code>
                </label>
              ))}
            </div>
          </details>
        )
      })}
    </fieldset>
  )
}
