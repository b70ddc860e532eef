import type { Application } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApiChange } from "../../api/use-api.ts"
import { SelectField, TextField } from "../../components/field.tsx"
import { FormDialog } from "../../components/overlays/dialog.tsx"
import type { Secrets } from "./secrets-dialog.tsx"

/** Creates a token that acts for a user of one of the apps; the token goes to `onCreated`. */
export function CreateUserToken({
  apps,
  onClose,
  onCreated,
}: {
  /** The active apps, at least one. */
  readonly apps: readonly Application[]
  readonly onClose: () => void
  readonly onCreated: (secrets: Secrets) => void
}): ReactNode {
  const create = useApiChange("POST", "tokens")
  const [appId, setAppId] = useState(apps[0]?.id ?? "")
  const [userId, setUserId] = useState("")
  return (
    <FormDialog
      onClose={onClose}
      title="Create a token of a user"
      description="It reads posts and users as the app does, and GET /2/users/me returns its user. It ends when it is revoked, and when the app is rotated or revoked."
      action="Create"
      change={create}
      onSubmit={() =>
        create.mutate(
          { body: { kind: "user", application_id: appId, user_id: userId } },
          {
            onSuccess: ({ data: { token } }) => {
              onClose()
              onCreated({ title: `New token of user ${userId}`, values: { token } })
            },
          },
        )
      }
    >
      <SelectField label="App" value={appId} options={apps.map(({ id, name }) => [id, name])} onChange={setAppId} />
      <TextField
        label="User id"
        hint="1 to 19 digits. The server need not know the user."
        value={userId}
        inputMode="numeric"
        pattern="[0-9]{1,19}"
        title="1 to 19 digits"
        required
        onChange={setUserId}
      />
    </FormDialog>
  )
}
