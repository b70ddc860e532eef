/** The page for those who are not signed in: a token, or the code of a sign-in link, becomes a session. */
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

/** Signs in. `hasEnded`: there was a session, which the server no longer knows. */
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
        {hasEnded && <p role="status">The session has ended: it is older than 12 hours, or its token was revoked.</p>}
        <Field
          label="Bearer token"
          hint="Of an app, or of an operator: sluice token create --kind operator"
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
          <code>sluice dev</code> prints a link that signs you in, once. The token is exchanged for a cookie that no
          script can read, and is kept nowhere.
        </p>
      </form>
    </main>
  )
}

function problemOf(error: unknown, isCode: boolean): string {
  if (error instanceof ApiError && error.status === 401) {
    return isCode
      ? "This link was used already, or is older than ten minutes. Start sluice dev again for a new one, or enter a token."
      : "This token is not valid here. It may be mistyped, revoked, or one that only sends posts."
  }
  return error instanceof Error ? error.message : "Signing in failed."
}
