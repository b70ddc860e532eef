/** The sign-in page: exchanges a token, or the code of a sign-in link, for a session. */
import { ApiError } from "@sluice/client"
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from "react"
import { useLocation } from "wouter"
import { sessionClient, type SessionData } from "../api/session.ts"
import { Button } from "../components/button.tsx"
import { Field } from "../components/field.tsx"
import { Icon } from "../components/icon.tsx"
import styles from "./sign-in.module.css"

/** A code works once, and effects run twice in development. */
const usedCodes = new Set<string>()

/** The sign-in form. `hasEnded`: a session has ended on the server. */
export function SignIn({
  hasEnded,
  onSignedIn,
}: {
  readonly hasEnded: boolean
  readonly onSignedIn: (data: SessionData) => void
}): ReactNode {
  const [location, navigate] = useLocation()
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const input = useRef<HTMLInputElement>(null)

  const signIn = async (body: { readonly token: string } | { readonly code: string }): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      const { data } = await sessionClient(undefined, undefined).request("POST", "session", { body })
      if (location.startsWith("/sign-in")) navigate("/", { replace: true })
      onSignedIn(data)
    } catch (error) {
      const isCode = "code" in body
      if (isCode) navigate("/sign-in", { replace: true })
      setProblem(problemOf(error, isCode))
      setBusy(false)
      input.current?.focus()
    }
  }

  useEffect(() => {
    document.title = "Sign in · Sluice"
    const code = /^#code=(.+)$/.exec(window.location.hash)?.[1]
    if (code === undefined || usedCodes.has(code)) return
    usedCodes.add(code)
    void signIn({ code })
    // oxlint-disable-next-line react/exhaustive-deps -- once, when the page opens
  }, [])

  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const token = (input.current?.value ?? "").trim()
    if (token === "") {
      setProblem("Enter a token.")
      input.current?.focus()
    } else void signIn({ token })
  }

  return (
    <main className={styles["page"]}>
      <form className={styles["card"]} onSubmit={submit} noValidate>
        <div className={styles["brand"]}>
          <Icon name="logo" size={28} />
          <h1>Sign in to Sluice</h1>
        </div>
        {hasEnded && <p role="status">Your session has ended: it is older than 12 hours, or its token was revoked.</p>}
        <Field
          label="Bearer token"
          hint="A token of an app, or an operator token: sluice token create --kind operator"
          {...(problem !== undefined && { error: problem })}
        >
          {(attributes) => (
            <input
              {...attributes}
              ref={input}
              type="password"
              name="token"
              autoComplete="current-password"
              spellCheck={false}
            />
          )}
        </Field>
        <Button type="submit" kind="primary" isBusy={isBusy}>
          Sign in
        </Button>
        <p className={styles["more"]}>
          <code>sluice dev</code> prints a link that signs you in once. The token is exchanged for a cookie that scripts
          cannot read, and is not stored.
        </p>
      </form>
    </main>
  )
}

function problemOf(error: unknown, isCode: boolean): string {
  if (error instanceof ApiError && error.status === 401) {
    return isCode
      ? "This link has already been used, or is older than ten minutes. Restart sluice dev for a new one, or enter a token."
      : "This token is not valid here. It may be mistyped or revoked, or it may be an ingest token."
  }
  return error instanceof Error ? error.message : "Sign-in failed."
}
