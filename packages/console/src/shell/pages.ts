/** The pages: where they are, what they are called, and who sees them. Each is loaded when it is opened. */
import { lazy, type ComponentType, type LazyExoticComponent } from "react"
import { checkConnection, connected } from "../api/connection.ts"
import type { SessionData } from "../api/session.ts"
import type { IconName } from "../components/icon.tsx"

/** A page of the navigation. */
export interface Page {
  /** Below the console's own path. A page has all paths below its own, for views of its own. */
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** What the page's requests are for: one app, which an operator has to choose, or whatever the caller may see. */
  readonly scope: "one app" | "any"
  readonly component: LazyExoticComponent<ComponentType>
  readonly isFor: (session: SessionData) => boolean
}

const everybody = (): boolean => true

/** A page's code, which is asked for again when the server was gone and is back. */
function loaded(load: () => Promise<{ readonly default: ComponentType }>): Page["component"] {
  return lazy(() =>
    load().catch(async (error: unknown) => {
      if (await checkConnection()) throw error
      await connected()
      return load()
    }),
  )
}

/** In the order of the navigation. */
export const pages: readonly Page[] = [
  {
    path: "/",
    title: "Overview",
    icon: "overview",
    scope: "any",
    component: loaded(() => import("../pages/overview/page.tsx")),
    isFor: everybody,
  },
  {
    path: "/rules",
    title: "Rules",
    icon: "rules",
    scope: "one app",
    component: loaded(() => import("../pages/rules/page.tsx")),
    isFor: everybody,
  },
  {
    path: "/live",
    title: "Live",
    icon: "live",
    scope: "one app",
    component: loaded(() => import("../pages/live/page.tsx")),
    isFor: everybody,
  },
  {
    path: "/webhooks",
    title: "Webhooks and links",
    icon: "webhooks",
    scope: "one app",
    component: loaded(() => import("../pages/webhooks/page.tsx")),
    isFor: everybody,
  },
  {
    path: "/posts",
    title: "Posts",
    icon: "posts",
    scope: "one app",
    component: loaded(() => import("../pages/posts/page.tsx")),
    isFor: everybody,
  },
  {
    path: "/apps",
    title: "Apps and tokens",
    icon: "apps",
    scope: "any",
    component: loaded(() => import("../pages/apps/page.tsx")),
    isFor: ({ kind }) => kind === "operator",
  },
  {
    path: "/trouble",
    title: "Trouble",
    icon: "trouble",
    scope: "one app",
    component: loaded(() => import("../pages/trouble/page.tsx")),
    isFor: ({ posture }) => posture === "dev",
  },
]
