import type { Application } from "@sluice/api"
import { nameCharactersMax } from "@sluice/api/limits"
import { useState, type ReactNode } from "react"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { Badge } from "../../components/badge.tsx"
import { Button } from "../../components/button.tsx"
import { TextField } from "../../components/field.tsx"
import { DataTable, type Column } from "../../components/lists/data-table.tsx"
import { FormDialog } from "../../components/overlays/dialog.tsx"
import { useConfirmedChange } from "../../components/overlays/use-confirmed-change.tsx"
import { Panel } from "../../components/panel.tsx"
import { EmptyState, ErrorState } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { VisuallyHidden } from "../../components/visually-hidden.tsx"
import styles from "./apps-panel.module.css"
import { LimitsDialog } from "./limits-dialog.tsx"
import type { Secrets } from "./secrets-dialog.tsx"

const invalidates = ["apps", "tokens", "overview"] as const

/** The apps; new credentials go to `onSecrets`. */
export function AppsPanel({ onSecrets }: { readonly onSecrets: (secrets: Secrets) => void }): ReactNode {
  const apps = useApi("apps")
  const [isCreating, setCreating] = useState(false)
  const [limited, setLimited] = useState<Application>()
  const request = ({ id }: Application): { readonly parameters: { readonly id: string } } => ({ parameters: { id } })
  const rotation = useConfirmedChange("POST", "rotateApp", {
    invalidates,
    request,
    title: ({ name }: Application) => `Rotate the credentials of ${name}?`,
    text: () =>
      "Its consumer key, consumer secret, client secret and bearer token stop working now. Programs that use them fail until they have the new ones.",
    action: "Rotate",
    onDone: ({ name }, { data }) => onSecrets({ title: `New credentials of ${name}`, values: { ...data } }),
  })
  const revocation = useConfirmedChange("DELETE", "app", {
    invalidates,
    request,
    title: ({ name }: Application) => `Revoke ${name}?`,
    text: () => "Its token stops working, its rules no longer match, and its links stop. This cannot be undone.",
    action: "Revoke",
    doneText: ({ name }) => `Revoked ${name}.`,
  })
  if (apps.isLoadingError) return <ErrorState of={apps} />
  return (
    <Panel
      title="Apps"
      isFlush
      actions={
        <Button kind="primary" size="small" onClick={() => setCreating(true)}>
          Create an app
        </Button>
      }
    >
      <DataTable
        label="Apps"
        columns={columnsOf({ onLimits: setLimited, onRotate: rotation.ask, onRevoke: revocation.ask })}
        rows={apps.data?.data}
        rowKey={({ id }) => id}
        empty={<EmptyState title="No apps yet">Rules, webhooks and links belong to an app: create one.</EmptyState>}
      />
      {isCreating && <CreateApp onClose={() => setCreating(false)} onCreated={onSecrets} />}
      {limited !== undefined && <LimitsDialog app={limited} onClose={() => setLimited(undefined)} />}
      {rotation.dialog}
      {revocation.dialog}
    </Panel>
  )
}

function columnsOf({
  onLimits,
  onRotate,
  onRevoke,
}: Readonly<Record<"onLimits" | "onRotate" | "onRevoke", (app: Application) => void>>): readonly Column<Application>[] {
  return [
    { id: "name", title: "Name", cell: ({ name }) => <strong className={styles["name"]}>{name}</strong> },
    { id: "id", title: "Id", cell: ({ id }) => <code>{id}</code>, isSecondary: true },
    { id: "created", title: "Created", cell: ({ created_at: at }) => <Time at={at} />, isSecondary: true },
    {
      id: "state",
      title: "State",
      cell: ({ revoked }) => (revoked ? <Badge>Revoked</Badge> : <Badge tone="good">Active</Badge>),
    },
    {
      id: "actions",
      title: <VisuallyHidden>Actions</VisuallyHidden>,
      align: "end",
      cell: (app) =>
        !app.revoked && (
          <span className={styles["actions"]}>
            <Button size="small" onClick={() => onLimits(app)} aria-label={`Usage and limits of ${app.name}`}>
              Limits
            </Button>
            <Button size="small" onClick={() => onRotate(app)} aria-label={`Rotate ${app.name}`}>
              Rotate
            </Button>
            <Button size="small" onClick={() => onRevoke(app)} aria-label={`Revoke ${app.name}`}>
              Revoke
            </Button>
          </span>
        ),
    },
  ]
}

function CreateApp({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (secrets: Secrets) => void
}): ReactNode {
  const create = useApiChange("POST", "apps", { invalidates })
  const [name, setName] = useState("")
  return (
    <FormDialog
      onClose={onClose}
      title="Create an app"
      action="Create"
      change={create}
      onSubmit={() =>
        create.mutate(
          { body: { name } },
          {
            onSuccess: ({ data }) => {
              onClose()
              onCreated({ title: `Credentials of ${name.trim()}`, values: { ...data } })
            },
          },
        )
      }
    >
      <TextField
        label="Name"
        hint={`Display name, at most ${nameCharactersMax} characters.`}
        value={name}
        maxLength={nameCharactersMax}
        required
        onChange={setName}
      />
    </FormDialog>
  )
}
