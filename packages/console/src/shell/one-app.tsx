/** Pages about one app: an operator chooses it first. */
import { useEffect, type ReactNode } from "react"
import { Link } from "wouter"
import { useApi } from "../api/use-api.ts"
import { useSession } from "../api/session.ts"
import { Button } from "../components/button.tsx"
import { EmptyState, ErrorState, PageSkeleton } from "../components/states.tsx"

/** Shows its children once there is an app to show them for. The only app there is needs no choosing. */
export function OneApp({ children }: { readonly children: ReactNode }): ReactNode {
  const { appId } = useSession()
  return appId === undefined ? <ChooseApp /> : children
}

function ChooseApp(): ReactNode {
  const { chooseApp } = useSession()
  const apps = useApi("apps")
  const active = apps.data?.data.filter(({ revoked }) => !revoked) ?? []
  const only = active.length === 1 ? active[0]?.id : undefined
  useEffect(() => {
    if (only !== undefined) chooseApp(only)
  }, [only, chooseApp])
  if (apps.isError) return <ErrorState isPage error={apps.error} onRetry={() => void apps.refetch()} />
  if (apps.isPending || only !== undefined) return <PageSkeleton />
  if (active.length === 0) {
    return (
      <EmptyState isPage title="There is no app yet" action={<Link href="~/console/apps">Create an app</Link>}>
        Rules, webhooks and links belong to an app.
      </EmptyState>
    )
  }
  return (
    <EmptyState
      isPage
      title="Which app?"
      action={active.slice(0, 20).map(({ id, name }) => (
        <Button key={id} onClick={() => chooseApp(id)}>
          {name}
        </Button>
      ))}
    >
      This page shows one app at a time. You can change it at any time under the menu.
    </EmptyState>
  )
}
