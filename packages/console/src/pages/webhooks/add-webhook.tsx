import { useState, type ReactNode } from "react"
import { useLocation } from "wouter"
import { useApiChange } from "../../api/use-api.ts"
import { Checkbox } from "../../components/checkbox.tsx"
import { TextField } from "../../components/field.tsx"
import { FormDialog } from "../../components/overlays/dialog.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import { FieldChoice, queryOf, type ChosenFields } from "./field-choice.tsx"
import { linkChanges } from "./link-dialogs.tsx"

/** Registers an endpoint and, unless unchecked, links it to the stream. */
export function AddWebhook({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [url, setUrl] = useState("")
  const [isLinked, setIsLinked] = useState(true)
  const [fields, setFields] = useState<ChosenFields>({})
  const [, navigate] = useLocation()
  const toast = useToast()
  const add = useApiChange("POST", "webhooks", { invalidates: ["webhookDetails", "webhooks"] })
  const link = useApiChange("POST", "link", { invalidates: linkChanges })

  const submit = async (): Promise<void> => {
    const { data } = add.data ?? (await add.mutateAsync({ body: { url: url.trim() } }))
    if (isLinked) await link.mutateAsync({ parameters: { webhook_id: data.id }, query: queryOf(fields) })
    toast(isLinked ? `Added and linked ${url.trim()}.` : `Added ${url.trim()}.`)
    onClose()
    navigate(`/${data.id}`)
  }

  return (
    <FormDialog
      onClose={onClose}
      title="Add a webhook"
      description="Sluice sends the endpoint a challenge now, and adds the webhook if the response is correct."
      action="Add"
      change={{ isPending: add.isPending || link.isPending, error: add.error ?? link.error }}
      isDisabled={url.trim() === ""}
      onSubmit={() => {
        // The dialog shows the error.
        submit().catch(() => undefined)
      }}
    >
      <TextField
        label="URL"
        hint="Must answer challenges, and accept a POST for each match."
        type="url"
        inputMode="url"
        placeholder="https://example.com/hook"
        value={url}
        disabled={add.isSuccess}
        onChange={setUrl}
      />
      <Checkbox isChecked={isLinked} onChange={setIsLinked}>
        Link it to the stream: deliver every match from now on
      </Checkbox>
      {isLinked && <FieldChoice chosen={fields} onChange={setFields} />}
    </FormDialog>
  )
}
