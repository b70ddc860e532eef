/** One attempt: the request as it was sent, and the response. */
import type { LinkAttemptBody } from "@sluice/api"
import type { ReactNode } from "react"
import { useApi } from "../../../api/use-api.ts"
import { CodeBlock } from "../../../components/code-block.tsx"
import { CopyButton } from "../../../components/copy-button.tsx"
import { countText } from "../../../components/counts.ts"
import { Muted } from "../../../components/muted.tsx"
import { ErrorState, Skeleton } from "../../../components/states.tsx"
import { shellText } from "../../../components/shell-text.ts"
import styles from "./attempt-details.module.css"

type AttemptSent = LinkAttemptBody["data"]
type Request = Exclude<AttemptSent["request"], undefined>
type Response = Exclude<AttemptSent["response"], undefined>

/** Why a body is not shown. */
const reasons: Readonly<Record<string, string>> = {
  damaged: "the stored post is damaged.",
  deleted: "the post has been deleted.",
}

/** The request and the response of an attempt. */
export function AttemptDetails({
  webhookId,
  attemptId,
}: {
  readonly webhookId: string
  readonly attemptId: string
}): ReactNode {
  const query = useApi("attempt", { parameters: { webhook_id: webhookId, attempt_id: attemptId } })
  if (query.isLoadingError) return <ErrorState of={query} />
  if (query.data === undefined) return <Skeleton height="180px" />
  const { error, request, response, bytes } = query.data.data
  return (
    <>
      {error !== undefined && <p className={styles["failure"]}>{error}</p>}
      <div className={styles["exchange"]}>
        <section aria-label="Request">
          <div className={styles["part"]}>
            <h3>Request</h3>
            {request?.body !== undefined && <CopyButton text={curlOf(request)} what="as curl" label="Copy as curl" />}
          </div>
          {request === undefined ? <p>Nothing was sent.</p> : <RequestShown request={request} bytes={bytes} />}
        </section>
        <section aria-label="Response">
          <div className={styles["part"]}>
            <h3>Response</h3>
          </div>
          {response === undefined ? (
            <Muted>No response was received, or none is kept.</Muted>
          ) : (
            <ResponseShown response={response} />
          )}
        </section>
      </div>
    </>
  )
}

function RequestShown({ request, bytes }: { readonly request: Request; readonly bytes: number }): ReactNode {
  const { method, url, headers, body, body_unavailable: why } = request
  return (
    <>
      <CodeBlock what="the request's headers" text={`${method} ${url}\n${headerText(headers)}`} maxHeight="220px" />
      {body === undefined ? (
        <Muted>
          The body of {countText(bytes)} bytes is not available: {reasons[why ?? ""] ?? "retention deleted the match."}
        </Muted>
      ) : (
        <CodeBlock what="the request's body" text={indented(body)} />
      )}
    </>
  )
}

function ResponseShown({ response }: { readonly response: Response }): ReactNode {
  const { status, headers, body, bytes } = response
  return (
    <>
      <CodeBlock
        what="the response's status and headers"
        text={`${status}\n${headerText(headers)}`}
        maxHeight="220px"
      />
      {body === "" ? (
        <Muted>{bytes === 0 ? "No body." : "The body is not kept."}</Muted>
      ) : (
        <CodeBlock what="the response's body" text={indented(body)} />
      )}
      {bytes > new TextEncoder().encode(body).length && <Muted>The start of {countText(bytes)} bytes.</Muted>}
    </>
  )
}

function headerText(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n")
}

/** JSON indented; other text unchanged. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

/** The request as a command for a POSIX shell, with the bytes that were sent. */
function curlOf({ method, url, headers, body = "" }: Request): string {
  const given = Object.entries(headers).filter(([name]) => name !== "content-length")
  return [
    `curl -X ${method} ${shellText(url)}`,
    ...given.map(([name, value]) => `-H ${shellText(`${name}: ${value}`)}`),
    `--data-binary ${shellText(body)}`,
  ].join(" \\\n  ")
}
