/** Pages for one app, which an operator chooses first. */
import { useEffect, type ReactNode } from "react"
import { Link } from "wouter"
import { useApi } from "../api/use-api.ts"
import { useSession } from "../api/session.ts"
import { Button } from "../components/button.tsx"
import { EmptyState, ErrorState, PageSkeleton } from "../components/states.tsx"

/** Renders its children once an app is chosen. If there is only one app, it is chosen automatically. */
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
  if (apps.isLoadingError) return <ErrorState isPage of={apps} />
  if (apps.isPending || only !== undefined) return <PageSkeleton />
  if (active.length === 0) {
    return (
      <EmptyState isPage title="No apps yet" action={<Link href="~/console/apps">Create an app</Link>}>
        Rules, webhooks and links belong to an app.
      </EmptyState>
    )
  }
  return (
    <EmptyState
      isPage
      title="Choose an app"
      action={active.slice(0, 20).map(({ id, name }) => (
        <Button key={id} onClick={() => chooseApp(id)}>
          {name}
        </Button>
      ))}
    >
      This page shows one app at a time. You can choose another in the menu.
    </EmptyState>
  )
}
