/** Maps the address to a page. */
import { Suspense, type ReactNode } from "react"
import { Route, Switch } from "wouter"
import { useSession } from "../api/session.ts"
import { ErrorBoundary } from "../components/error-boundary.tsx"
import { EmptyState, PageSkeleton } from "../components/states.tsx"
import { OneApp } from "./one-app.tsx"
import { pages } from "./pages.ts"

/** The current page, once it is loaded. */
export function Routes(): ReactNode {
  const session = useSession()
  const visible = pages.filter((page) => page.isFor?.(session) ?? true)
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
        <EmptyState isPage title="Page not found">
          The address may belong to another version of the console.
        </EmptyState>
      </Route>
    </Switch>
  )
}
