/** What stands where data would: nothing yet, an error, or the shape of what is being loaded. */
import { ApiError } from "@sluice/client"
import type { ReactNode } from "react"
import { Button } from "./button.tsx"
import { Icon } from "./icon.tsx"
import styles from "./states.module.css"

/** Nothing here: says why, and what to do next. `isPage`: it is all of the page, so its title is the page's. */
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

/** A request that failed, in the words of the server, with its details. `isPage`: it is all of the page. */
export function ErrorState({
  error,
  isPage = false,
  onRetry,
}: {
  readonly error: unknown
  readonly isPage?: boolean
  readonly onRetry?: () => void
}): ReactNode {
  const Heading = isPage ? "h1" : "h2"
  return (
    <div className={styles["state"]} role="alert">
      <span className={styles["errorIcon"]}>
        <Icon name="alert" size={20} />
      </span>
      <Heading>{errorTitle(error)}</Heading>
      <ErrorDetails error={error} />
      {onRetry !== undefined && (
        <div className={styles["action"]}>
          <Button onClick={onRetry}>Try again</Button>
        </div>
      )}
    </div>
  )
}

/** A failed change, beside the control that made it. Shows nothing without an error. */
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

/** The room that text will take. `width` in % or any length. */
export function Skeleton({
  width = "100%",
  height = "1em",
}: {
  readonly width?: string
  readonly height?: string
}): ReactNode {
  return <span className={styles["skeleton"]} style={{ width, height }} aria-hidden="true" />
}

/** A page before its code or its first data is there. */
export function PageSkeleton(): ReactNode {
  return (
    <div className={styles["page"]} aria-busy="true">
      <Skeleton width="180px" height="26px" />
      <Skeleton width="60%" height="16px" />
      <Skeleton height="240px" />
    </div>
  )
}
