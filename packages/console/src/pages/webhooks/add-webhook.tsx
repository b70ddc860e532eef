import { useState, type ReactNode } from "react"
import { useLocation } from "wouter"
import { useApiChange } from "../../api/use-api.ts"
import { Button } from "../../components/button.tsx"
import { Dialog } from "../../components/overlays/dialog.tsx"
import { Field } from "../../components/field.tsx"
import { ErrorNote } from "../../components/states.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import { FieldChoice, queryOf, type ChosenFields } from "./field-choice.tsx"
import styles from "./webhooks.module.css"

/** Registers an endpoint, and links it to the stream unless that is not wanted yet. */
export function AddWebhook({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [url, setUrl] = useState("")
  const [isLinked, setIsLinked] = useState(true)
  const [fields, setFields] = useState<ChosenFields>({})
  const [, navigate] = useLocation()
  const toast = useToast()
  const add = useApiChange("POST", "webhooks", { invalidates: ["webhookDetails", "webhooks"] })
  const link = useApiChange("POST", "link", { invalidates: ["webhookDetails", "webhookDetail", "links"] })

  const submit = async (): Promise<void> => {
    const { data } = add.data ?? (await add.mutateAsync({ body: { url: url.trim() } }))
    if (isLinked) await link.mutateAsync({ parameters: { webhook_id: data.id }, query: queryOf(fields) })
    toast(isLinked ? "The webhook is added and linked." : "The webhook is added.")
    onClose()
    navigate(`/${data.id}`)
  }

  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Add a webhook"
      description="The endpoint is challenged at once, and added when it answers rightly."
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            type="submit"
            form="add-webhook"
            isBusy={add.isPending || link.isPending}
            disabled={url.trim() === ""}
          >
            Add
          </Button>
        </>
      }
    >
      <form
        id="add-webhook"
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault()
          // What goes wrong is shown below.
          submit().catch(() => undefined)
        }}
      >
        <Field label="URL" hint="It answers challenges, and takes a POST for each match.">
          {(attributes) => (
            <input
              {...attributes}
              type="url"
              inputMode="url"
              autoComplete="off"
              placeholder="https://example.com/hook"
              value={url}
              disabled={add.isSuccess}
              onChange={(event) => setUrl(event.target.value)}
            />
          )}
        </Field>
        <label className={styles["check"]}>
          <input type="checkbox" checked={isLinked} onChange={(event) => setIsLinked(event.target.checked)} />
          Link it to the stream: send it every match from now on
        </label>
        {isLinked && <FieldChoice chosen={fields} onChange={setFields} />}
        <ErrorNote error={add.error ?? link.error} />
      </form>
    </Dialog>
  )
}
