import type { Application } from "@sluice/api"
import { nameCharactersMax } from "@sluice/api/limits"
import { useState, type ReactNode } from "react"
import { useApiChange } from "../../api/use-api.ts"
import { SelectField, TextField } from "../../components/field.tsx"
import { FormDialog } from "../../components/overlays/dialog.tsx"
import type { Secrets } from "./secrets-dialog.tsx"

type Kind = "ingest" | "operator" | "user"

const kinds: readonly (readonly [Kind, string])[] = [
  ["ingest", "Ingest: sends posts"],
  ["operator", "Operator: manages the server"],
  ["user", "User: acts for a user of an app"],
]

/** Creates a token of a program that sends posts, of an operator, or of a user of an app; the token goes to `onCreated`. */
export function CreateToken({
  apps,
  onClose,
  onCreated,
}: {
  /** The active apps. */
  readonly apps: readonly Application[]
  readonly onClose: () => void
  readonly onCreated: (secrets: Secrets) => void
}): ReactNode {
  const create = useApiChange("POST", "tokens")
  const [kind, setKind] = useState<Kind>("ingest")
  const [name, setName] = useState("")
  const [appId, setAppId] = useState(apps[0]?.id ?? "")
  const [userId, setUserId] = useState("")
  const isOfUser = kind === "user"
  return (
    <FormDialog
      onClose={onClose}
      title="Create a token"
      description={
        isOfUser
          ? "It reads posts and users as the app does, and GET /2/users/me returns its user. It ends when it is revoked, and when the app is rotated or revoked."
          : "It is shown once, and ends when it is revoked."
      }
      action="Create"
      change={create}
      onSubmit={() =>
        create.mutate(
          {
            body: {
              kind,
              ...(name.trim() !== "" && { name }),
              ...(isOfUser && { application_id: appId, user_id: userId }),
            },
          },
          {
            onSuccess: ({ data: { token } }) => {
              onClose()
              onCreated({ title: isOfUser ? `New token of user ${userId}` : `New ${kind} token`, values: { token } })
            },
          },
        )
      }
    >
      <SelectField
        label="Kind"
        value={kind}
        options={kinds.filter(([one]) => one !== "user" || apps.length > 0)}
        onChange={setKind}
      />
      <TextField
        label="Name"
        hint="Such as the program that has it. May be left out."
        value={name}
        maxLength={nameCharactersMax}
        onChange={setName}
      />
      {isOfUser && (
        <>
          <SelectField label="App" value={appId} options={apps.map((app) => [app.id, app.name])} onChange={setAppId} />
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
        </>
      )}
    </FormDialog>
  )
}
