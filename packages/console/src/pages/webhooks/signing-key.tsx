/** The key by which a receiver verifies deliveries, shown on demand, and its rotation. */
import { useState, type ReactNode } from "react"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { Button } from "../../components/button.tsx"
import { CodeBlock } from "../../components/code-block.tsx"
import { Confirm, Dialog } from "../../components/overlays/dialog.tsx"
import { Panel } from "../../components/panel.tsx"
import { ErrorNote, Skeleton } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import styles from "./webhooks.module.css"

/** The signing key of a webhook. */
export function SigningKey({ webhookId }: { readonly webhookId: string }): ReactNode {
  const [isShown, setIsShown] = useState(false)
  const [isAsking, setIsAsking] = useState(false)
  const parameters = { webhook_id: webhookId }
  const key = useApi("signingKey", { parameters }, { enabled: isShown })
  const rotate = useApiChange("POST", "signingKey", { invalidates: ["signingKey"] })
  const rotated = rotate.data?.data
  return (
    <Panel title="Signing key">
      <div className={styles["form"]}>
        <p>
          Deliveries are signed by the rules of Standard Webhooks in the header <code>webhook-signature</code>, under
          this key. A receiver that knows the key can tell them from forgeries.
        </p>
        {isShown && key.data === undefined && !key.isError && <Skeleton height="36px" />}
        {isShown && key.data !== undefined && (
          <>
            <CodeBlock text={key.data.data.signing_key} what="the signing key" />
            {key.data.data.previous_valid_until !== undefined && (
              <p className={styles["muted"]}>
                The key before signs too until <Time at={key.data.data.previous_valid_until} form="absolute" />.
              </p>
            )}
          </>
        )}
        <ErrorNote error={key.error} />
        <div className={styles["buttons"]}>
          <Button onClick={() => setIsShown(!isShown)} aria-expanded={isShown}>
            {isShown ? "Hide the key" : "Show the key"}
          </Button>
          <Button onClick={() => setIsAsking(true)}>Rotate the key</Button>
        </div>
      </div>
      <Confirm
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        title="Rotate the signing key?"
        action="Rotate"
        isBusy={rotate.isPending}
        error={rotate.error}
        onConfirm={() => rotate.mutate({ parameters }, { onSuccess: () => setIsAsking(false) })}
      >
        The webhook gets a new key. The present one signs too for a while, so that the receiver can be changed in that
        time. The one before that signs no longer.
      </Confirm>
      <Dialog
        isOpen={rotated !== undefined}
        onClose={() => rotate.reset()}
        title="The new signing key"
        description="Give it to the receiver now."
        actions={
          <Button kind="primary" onClick={() => rotate.reset()}>
            Done
          </Button>
        }
      >
        {rotated !== undefined && (
          <>
            <CodeBlock text={rotated.signing_key} what="the new signing key" />
            {rotated.previous_valid_until !== undefined && (
              <p className={styles["muted"]}>
                The key before signs too until <Time at={rotated.previous_valid_until} form="absolute" />.
              </p>
            )}
          </>
        )}
      </Dialog>
    </Panel>
  )
}
