import type { PageMeta } from "@sluice/api"
import type { ReactNode } from "react"
import { Button } from "../../components/button.tsx"
import styles from "./posts.module.css"

/** The way to the pages beside this one, by its tokens. The buttons stay where they are. */
export function PageButtons({
  meta,
  onPage,
}: {
  readonly meta: PageMeta | undefined
  readonly onPage: (token: string) => void
}): ReactNode {
  const { previous_token: previous, next_token: next } = meta ?? {}
  return (
    <nav className={styles["pages"]} aria-label="Newer and older posts">
      <Button disabled={previous === undefined} onClick={() => previous !== undefined && onPage(previous)}>
        Newer
      </Button>
      <Button disabled={next === undefined} onClick={() => next !== undefined && onPage(next)}>
        Older
      </Button>
    </nav>
  )
}
