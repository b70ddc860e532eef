/** Placeholders for data: an empty state, an error, and skeletons while data loads. */
import { ApiError } from "@sluice/client"
import type { ReactNode } from "react"
import { Button } from "./button.tsx"
import { Icon } from "./icon.tsx"
import styles from "./states.module.css"

/** An empty list or page: explains why, and what to do next. `isPage`: its title is the title of the page. */
export function EmptyState({
  title,
  isPage = false,
  action,
  children,
}: {
  readonly title: string
  readonly isPage?: boolean
  readonly action?: ReactNode
  readonly children?: ReactNode
}): ReactNode {
  const Heading = isPage ? "h1" : "h2"
  return (
    <div className={styles["state"]}>
      <Heading>{title}</Heading>
      {children !== undefined && <div className={styles["text"]}>{children}</div>}
      {action !== undefined && <div className={styles["action"]}>{action}</div>}
    </div>
  )
}

/** A failed read with the server's message, and a button that repeats it. `isPage`: its title is the title of the page. */
export function ErrorState({
  of: { error, refetch },
  isPage = false,
}: {
  /** The query that failed, or anything that can be repeated. */
  readonly of: { readonly error: unknown; readonly refetch: () => unknown }
  readonly isPage?: boolean
}): ReactNode {
  const Heading = isPage ? "h1" : "h2"
  return (
    <div className={styles["state"]} role="alert">
      <span className={styles["errorIcon"]}>
        <Icon name="alert" size={20} />
      </span>
      <Heading>{errorTitle(error)}</Heading>
      <ErrorDetails error={error} />
      <div className={styles["action"]}>
        <Button onClick={() => void refetch()}>Try again</Button>
      </div>
    </div>
  )
}

/** A failed change, next to the control that made it. Nothing without an error. */
export function ErrorNote({ error }: { readonly error: unknown }): ReactNode {
  if (error === null || error === undefined) return null
  return (
    <div className={styles["note"]} role="alert">
      <strong>{errorTitle(error)}</strong>
      <ErrorDetails error={error} />
    </div>
  )
}

function ErrorDetails({ error }: { readonly error: unknown }): ReactNode {
  const details = error instanceof ApiError ? error.details : []
  if (details.length === 0) return null
  return (
    <ul className={styles["details"]}>
      {details.map((detail) => (
        <li key={detail}>{detail}</li>
      ))}
    </ul>
  )
}

/** An error in one sentence. */
export function errorTitle(error: unknown): string {
  if (error instanceof ApiError) return error.message
  return `The console failed: ${error instanceof Error ? error.message : String(error)}`
}

/** Reserves the space of data that loads. */
export function Skeleton({
  width = "100%",
  height = "1em",
}: {
  readonly width?: string
  readonly height?: string
}): ReactNode {
  return <span className={styles["skeleton"]} style={{ width, height }} aria-hidden="true" />
}

/** A page whose code or first data loads. */
export function PageSkeleton(): ReactNode {
  return (
    <div className={styles["page"]} aria-busy="true">
      <Skeleton width="180px" height="26px" />
      <Skeleton width="60%" height="16px" />
      <Skeleton height="240px" />
    </div>
  )
}
