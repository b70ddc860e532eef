import { failureText, type TestDeliveryBody, type WebhookDetail } from "@sluice/api"
import type { ReactNode } from "react"
import { useApiChange } from "../../api/use-api.ts"
import { Badge } from "../../components/badge.tsx"
import { Button } from "../../components/button.tsx"
import { CodeBlock } from "../../components/code-block.tsx"
import { Muted } from "../../components/muted.tsx"
import { Panel } from "../../components/panel.tsx"
import { ErrorNote } from "../../components/states.tsx"

/** A button that sends a test to a webhook, and the result of the last one, for two places of a page. */
export function useTest({ id, valid }: WebhookDetail): { readonly button: ReactNode; readonly result: ReactNode } {
  const test = useApiChange("POST", "webhookTest", {})
  return {
    button: (
      <Button
        isBusy={test.isPending}
        disabled={!valid}
        onClick={() => test.mutate({ parameters: { webhook_id: id } })}
        title={valid ? "Sends a made-up post, signed as deliveries are" : "Nothing is sent to an invalid webhook"}
      >
        Send a test
      </Button>
    ),
    result: (
      <>
        <ErrorNote error={test.error} />
        {test.data !== undefined && !test.isPending && <Result test={test.data.data} />}
      </>
    ),
  }
}

function Result({ test }: { readonly test: TestDeliveryBody["data"] }): ReactNode {
  const { outcome, duration_ms: durationMs, event_id: eventId, response } = test
  const isDelivered = outcome === "delivered"
  return (
    <Panel
      title="Test"
      actions={<Badge tone={isDelivered ? "good" : "bad"}>{isDelivered ? "delivered" : "not delivered"}</Badge>}
    >
      <div role="status">
        {isDelivered ? "The endpoint accepted the test" : `The test was not delivered: ${failureText(test)}.`}{" "}
        <Muted>
          <code>{eventId}</code> took {durationMs} ms
        </Muted>
      </div>
      {response !== undefined && response.body !== "" && (
        <CodeBlock what="the body of the response" maxHeight="160px" text={response.body} />
      )}
    </Panel>
  )
}
