/** From the address to the page. */
import { Suspense, type ReactNode } from "react"
import { Route, Switch } from "wouter"
import { useSession } from "../api/session.ts"
import { ErrorBoundary } from "../components/error-boundary.tsx"
import { EmptyState, PageSkeleton } from "../components/states.tsx"
import { OneApp } from "./one-app.tsx"
import { pages } from "./pages.ts"

/** The page of the address, once it is loaded. */
export function Routes(): ReactNode {
  const session = useSession()
  const visible = pages.filter((page) => page.isFor(session))
  return (
    <Switch>
      {visible.map(({ path, scope, component: Page }) => (
        <Route key={path} path={path} nest={path !== "/"}>
          <ErrorBoundary of="page">
            <Suspense fallback={<PageSkeleton />}>
              {scope === "one app" ? (
                <OneApp>
                  <Page />
                </OneApp>
              ) : (
                <Page />
              )}
            </Suspense>
          </ErrorBoundary>
        </Route>
      ))}
      <Route>
        <EmptyState isPage title="There is no such page">
          The address may be from another version of the console.
        </EmptyState>
      </Route>
    </Switch>
  )
}
