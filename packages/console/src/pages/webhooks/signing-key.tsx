/** The key with which a receiver verifies deliveries: shown on demand, and rotated. */
import type { SigningKeyBody, WebhookDetail } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApi } from "../../api/use-api.ts"
import { Button } from "../../components/button.tsx"
import { CodeBlock } from "../../components/code-block.tsx"
import { Muted } from "../../components/muted.tsx"
import { Dialog } from "../../components/overlays/dialog.tsx"
import { useConfirmedChange } from "../../components/overlays/use-confirmed-change.tsx"
import { Panel } from "../../components/panel.tsx"
import { Stack } from "../../components/stack.tsx"
import { ErrorNote, Skeleton } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"

type Key = SigningKeyBody["data"]

/** The signing key of a webhook. */
export function SigningKey({ webhook }: { readonly webhook: WebhookDetail }): ReactNode {
  const [isShown, setIsShown] = useState(false)
  const [rotated, setRotated] = useState<Key>()
  const parameters = { webhook_id: webhook.id }
  const key = useApi("signingKey", { parameters }, { enabled: isShown })
  const rotation = useConfirmedChange("POST", "signingKey", {
    invalidates: ["signingKey"],
    request: ({ id }: WebhookDetail) => ({ parameters: { webhook_id: id } }),
    title: ({ url }) => `Rotate the signing key of ${url}?`,
    text: () =>
      "The webhook gets a new key. Deliveries are signed with the current key too for a while, so that you can change the receiver. The key before it stops now.",
    action: "Rotate",
    onDone: (_, { data }) => setRotated(data),
  })
  return (
    <Panel title="Signing key">
      <Stack>
        <p>
          Deliveries are signed with this key in the header <code>webhook-signature</code>, as Standard Webhooks
          specifies. A receiver that has the key can reject forged requests.
        </p>
        {isShown && key.isPending && <Skeleton height="36px" />}
        {isShown && key.data !== undefined && <KeyShown signingKey={key.data.data} what="the signing key" />}
        <ErrorNote error={key.error} />
        <Stack isRow>
          <Button onClick={() => setIsShown(!isShown)} aria-expanded={isShown}>
            {isShown ? "Hide the key" : "Show the key"}
          </Button>
          <Button onClick={() => rotation.ask(webhook)}>Rotate the key</Button>
        </Stack>
      </Stack>
      {rotation.dialog}
      {rotated !== undefined && (
        <Dialog
          onClose={() => setRotated(undefined)}
          title={`New signing key of ${webhook.url}`}
          description="Configure the receiver with it now."
          actions={
            <Button kind="primary" onClick={() => setRotated(undefined)}>
              Done
            </Button>
          }
        >
          <KeyShown signingKey={rotated} what="the new signing key" />
        </Dialog>
      )}
    </Panel>
  )
}

function KeyShown({ signingKey, what }: { readonly signingKey: Key; readonly what: string }): ReactNode {
  return (
    <>
      <CodeBlock text={signingKey.signing_key} what={what} />
      {signingKey.previous_valid_until !== undefined && (
        <Muted>
          The previous key is also used until <Time at={signingKey.previous_valid_until} form="absolute" />.
        </Muted>
      )}
    </>
  )
}
