/** Apps and tokens, for operators: who may use this server. */
import type { Application, AppCredentialsBody, ListedToken } from "@sluice/api"
import { useState, type FormEvent, type ReactNode } from "react"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { Badge } from "../../components/badge.tsx"
import { Button } from "../../components/button.tsx"
import { CopyButton } from "../../components/copy-button.tsx"
import { DataTable, type Column } from "../../components/lists/data-table.tsx"
import { Confirm, Dialog } from "../../components/overlays/dialog.tsx"
import { Field } from "../../components/field.tsx"
import { PageHeader } from "../../components/page-header.tsx"
import { Panel } from "../../components/panel.tsx"
import { EmptyState, ErrorNote, ErrorState } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import styles from "./apps.module.css"

/** Secrets that are shown this once, by the names of their members. */
interface Shown {
  readonly title: string
  readonly secrets: Readonly<Record<string, string>>
}

type Credentials = AppCredentialsBody["data"]

/** Apps with their credentials, and tokens of operators and of programs that send posts. */
export default function AppsPage(): ReactNode {
  const [shown, setShown] = useState<Shown>()
  const showCredentials = (title: string, credentials: Credentials): void =>
    setShown({ title, secrets: { ...credentials } })
  return (
    <div>
      <PageHeader title="Apps and tokens">
        An app has its own rules, webhooks and links. Operators see all of them; ingest tokens only send posts.
      </PageHeader>
      <AppsPanel onCredentials={showCredentials} />
      <TokensPanel onToken={(kind, token) => setShown({ title: `A new ${kind} token`, secrets: { token } })} />
      <SecretsDialog shown={shown} onClose={() => setShown(undefined)} />
    </div>
  )
}

function AppsPanel({
  onCredentials,
}: {
  readonly onCredentials: (title: string, credentials: Credentials) => void
}): ReactNode {
  const apps = useApi("apps")
  const [isCreating, setCreating] = useState(false)
  const [rotating, setRotating] = useState<Application>()
  const [revoking, setRevoking] = useState<Application>()
  const rotate = useApiChange("POST", "rotateApp", { invalidates: ["apps", "tokens"] })
  const revoke = useApiChange("DELETE", "app", { invalidates: ["apps", "tokens"] })
  const toast = useToast()
  const columns = appColumns(setRotating, setRevoking)
  if (apps.isError) return <ErrorState error={apps.error} onRetry={() => void apps.refetch()} />
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
        columns={columns}
        rows={apps.data?.data}
        rowKey={({ id }) => id}
        empty={<EmptyState title="There is no app yet">Create one: rules, webhooks and links belong to it.</EmptyState>}
      />
      {isCreating && (
        <CreateApp
          onClose={() => setCreating(false)}
          onCreated={(name, credentials) => {
            setCreating(false)
            onCredentials(`Credentials of ${name}`, credentials)
          }}
        />
      )}
      <Confirm
        isOpen={rotating !== undefined}
        title={`Give ${rotating?.name ?? ""} new credentials?`}
        action="Rotate"
        isBusy={rotate.isPending}
        error={rotate.error}
        onClose={() => setRotating(undefined)}
        onConfirm={() => {
          if (rotating === undefined) return
          rotate.mutate(
            { parameters: { id: rotating.id } },
            {
              onSuccess: ({ data }) => {
                setRotating(undefined)
                onCredentials(`New credentials of ${rotating.name}`, data)
              },
            },
          )
        }}
      >
        Its consumer key, consumer secret, client secret and bearer token end at once. Programs that use them fail until
        they have the new ones.
      </Confirm>
      <Confirm
        isOpen={revoking !== undefined}
        title={`Revoke ${revoking?.name ?? ""}?`}
        action="Revoke"
        isBusy={revoke.isPending}
        error={revoke.error}
        onClose={() => setRevoking(undefined)}
        onConfirm={() => {
          if (revoking === undefined) return
          revoke.mutate(
            { parameters: { id: revoking.id } },
            {
              onSuccess: () => {
                setRevoking(undefined)
                toast(`${revoking.name} is revoked.`)
              },
            },
          )
        }}
      >
        Its token ends, its rules match nothing more, and its links stop. This cannot be undone.
      </Confirm>
    </Panel>
  )
}

function appColumns(
  onRotate: (app: Application) => void,
  onRevoke: (app: Application) => void,
): readonly Column<Application>[] {
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
      title: <span className="visually-hidden">Actions</span>,
      align: "end",
      cell: (app) =>
        !app.revoked && (
          <span className={styles["actions"]}>
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
  readonly onCreated: (name: string, credentials: Credentials) => void
}): ReactNode {
  const create = useApiChange("POST", "apps", { invalidates: ["apps", "tokens", "overview"] })
  const [name, setName] = useState("")
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    create.mutate({ body: { name } }, { onSuccess: ({ data }) => onCreated(name.trim(), data) })
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Create an app"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" form="create-app" isBusy={create.isPending}>
            Create
          </Button>
        </>
      }
    >
      <form id="create-app" onSubmit={submit} className={styles["form"]}>
        <Field label="Name" hint="What people call it. At most 100 characters.">
          {(attributes) => (
            <input
              {...attributes}
              value={name}
              maxLength={100}
              required
              autoComplete="off"
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <ErrorNote error={create.error} />
      </form>
    </Dialog>
  )
}

function TokensPanel({
  onToken,
}: {
  readonly onToken: (kind: "operator" | "ingest", token: string) => void
}): ReactNode {
  const tokens = useApi("tokens")
  const apps = useApi("apps")
  const create = useApiChange("POST", "tokens")
  const revoke = useApiChange("DELETE", "token", { invalidates: ["tokens"] })
  const [revoking, setRevoking] = useState<ListedToken>()
  const toast = useToast()
  const nameOf = (id: string | undefined): string | undefined => apps.data?.data.find((app) => app.id === id)?.name
  const make = (kind: "operator" | "ingest"): void =>
    create.mutate({ body: { kind } }, { onSuccess: ({ data }) => onToken(kind, data.token) })
  const columns: readonly Column<ListedToken>[] = [
    { id: "id", title: "Id", cell: ({ id }) => <code>{id}</code> },
    {
      id: "kind",
      title: "Kind",
      cell: ({ kind }) => <Badge tone={kind === "operator" ? "accent" : "neutral"}>{kind}</Badge>,
    },
    {
      id: "app",
      title: "App",
      isSecondary: true,
      cell: ({ application_id: id }) => (id === undefined ? "" : (nameOf(id) ?? id)),
    },
    { id: "created", title: "Created", isSecondary: true, cell: ({ created_at: at }) => <Time at={at} /> },
    {
      id: "actions",
      title: <span className="visually-hidden">Actions</span>,
      align: "end",
      cell: (token) =>
        token.kind !== "app" && (
          <Button size="small" onClick={() => setRevoking(token)} aria-label={`Revoke the token ${token.id}`}>
            Revoke
          </Button>
        ),
    },
  ]
  if (tokens.isError) return <ErrorState error={tokens.error} onRetry={() => void tokens.refetch()} />
  return (
    <Panel
      title="Tokens"
      isFlush
      actions={
        <>
          <Button size="small" isBusy={create.isPending} onClick={() => make("ingest")}>
            Create an ingest token
          </Button>
          <Button size="small" isBusy={create.isPending} onClick={() => make("operator")}>
            Create an operator token
          </Button>
        </>
      }
    >
      <ErrorNote error={create.error} />
      <DataTable label="Tokens" columns={columns} rows={tokens.data?.data} rowKey={({ id }) => id} />
      <Confirm
        isOpen={revoking !== undefined}
        title={`Revoke this ${revoking?.kind ?? ""} token?`}
        action="Revoke"
        isBusy={revoke.isPending}
        error={revoke.error}
        onClose={() => setRevoking(undefined)}
        onConfirm={() => {
          if (revoking === undefined) return
          revoke.mutate(
            { parameters: { token_id: revoking.id } },
            {
              onSuccess: () => {
                setRevoking(undefined)
                toast("The token is revoked.")
              },
            },
          )
        }}
      >
        Whatever uses it is refused at once, and sessions that it began end: this one too, if it is yours.
      </Confirm>
    </Panel>
  )
}

function SecretsDialog({
  shown,
  onClose,
}: {
  readonly shown: Shown | undefined
  readonly onClose: () => void
}): ReactNode {
  return (
    <Dialog
      isOpen={shown !== undefined}
      onClose={onClose}
      title={shown?.title ?? ""}
      description="Shown this once. Copy what you need before you close this."
      isWide
      actions={
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <dl className={styles["secrets"]}>
        {Object.entries(shown?.secrets ?? {}).map(([name, value]) => (
          <div key={name}>
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd>
              <code>{value}</code>
              <CopyButton text={value} what={`the ${name.replaceAll("_", " ")}`} />
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
