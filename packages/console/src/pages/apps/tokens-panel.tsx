import type { ListedToken } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApi } from "../../api/use-api.ts"
import { Badge } from "../../components/badge.tsx"
import { Button } from "../../components/button.tsx"
import { DataTable, type Column } from "../../components/lists/data-table.tsx"
import { useConfirmedChange } from "../../components/overlays/use-confirmed-change.tsx"
import { Panel } from "../../components/panel.tsx"
import { ErrorState } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { VisuallyHidden } from "../../components/visually-hidden.tsx"
import { CreateToken } from "./create-token.tsx"
import type { Secrets } from "./secrets-dialog.tsx"

/** The tokens of operators, ingest, apps and their users; new ones go to `onSecrets`. */
export function TokensPanel({ onSecrets }: { readonly onSecrets: (secrets: Secrets) => void }): ReactNode {
  const tokens = useApi("tokens")
  const apps = useApi("apps")
  const [isCreating, setCreating] = useState(false)
  const revocation = useConfirmedChange("DELETE", "token", {
    invalidates: ["tokens"],
    request: ({ id }: ListedToken) => ({ parameters: { token_id: id } }),
    title: ({ kind, id, name }) => `Revoke the ${kind} token ${name ?? id}?`,
    text: () =>
      "Programs that use it are rejected, and sessions that it started end: this one too, if the token is yours.",
    action: "Revoke",
    doneText: ({ kind, id, name }) => `Revoked the ${kind} token ${name ?? id}.`,
  })
  const names = new Map(apps.data?.data.map(({ id, name }) => [id, name]))
  const active = apps.data?.data.filter(({ revoked }) => !revoked) ?? []
  const columns: readonly Column<ListedToken>[] = [
    ...factColumns,
    {
      id: "app",
      title: "App",
      isSecondary: true,
      cell: ({ application_id: id }) => (id === undefined ? "" : (names.get(id) ?? id)),
    },
    {
      id: "user",
      title: "User",
      isSecondary: true,
      cell: ({ user_id: id }) => id !== undefined && <code>{id}</code>,
    },
    { id: "created", title: "Created", isSecondary: true, cell: ({ created_at: at }) => <Time at={at} /> },
    {
      id: "used",
      title: "Last used",
      isSecondary: true,
      cell: ({ last_used_at: at }) => (at === undefined ? "never" : <Time at={at} />),
    },
    {
      id: "actions",
      title: <VisuallyHidden>Actions</VisuallyHidden>,
      align: "end",
      cell: (token) =>
        token.kind !== "app" && (
          <Button size="small" onClick={() => revocation.ask(token)} aria-label={`Revoke the token ${token.id}`}>
            Revoke
          </Button>
        ),
    },
  ]
  if (tokens.isLoadingError) return <ErrorState of={tokens} />
  return (
    <Panel
      title="Tokens"
      isFlush
      actions={
        <Button size="small" onClick={() => setCreating(true)}>
          Create a token
        </Button>
      }
    >
      <DataTable label="Tokens" columns={columns} rows={tokens.data?.data} rowKey={({ id }) => id} />
      {isCreating && <CreateToken apps={active} onClose={() => setCreating(false)} onCreated={onSecrets} />}
      {revocation.dialog}
    </Panel>
  )
}

const factColumns: readonly Column<ListedToken>[] = [
  { id: "id", title: "Id", cell: ({ id }) => <code>{id}</code> },
  {
    id: "kind",
    title: "Kind",
    cell: ({ kind }) => <Badge tone={kind === "operator" ? "accent" : "neutral"}>{kind}</Badge>,
  },
  { id: "name", title: "Name", cell: ({ name }) => name ?? "" },
]
