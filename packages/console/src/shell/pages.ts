/** The pages: path, title, and who sees them. Each is loaded when it is opened. */
import { lazy, type ComponentType, type LazyExoticComponent } from "react"
import { checkConnection, connected } from "../api/connection.ts"
import type { SessionData } from "../api/session.ts"
import type { IconName } from "../components/icon.tsx"

/** A page of the navigation. */
export interface Page {
  /** Relative to the console's path. A page also owns all paths below its own. */
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** The scope of its requests: one app, which an operator has to choose, or everything that the caller may see. */
  readonly scope: "one app" | "any"
  readonly component: LazyExoticComponent<ComponentType>
  /** Selects the sessions that see it; absent: all. */
  readonly isFor?: (session: SessionData) => boolean
}

/** A page's code; loaded again once a lost server is back. */
function loaded(load: () => Promise<{ readonly default: ComponentType }>): Page["component"] {
  return lazy(() =>
    load().catch(async (error: unknown) => {
      if (await checkConnection()) throw error
      await connected()
      return load()
    }),
  )
}

/** All pages, in the order of the navigation. */
export const pages: readonly Page[] = [
  {
    path: "/",
    title: "Overview",
    icon: "overview",
    scope: "any",
    component: loaded(() => import("../pages/overview/page.tsx")),
  },
  {
    path: "/rules",
    title: "Rules",
    icon: "rules",
    scope: "one app",
    component: loaded(() => import("../pages/rules/page.tsx")),
  },
  {
    path: "/live",
    title: "Live",
    icon: "live",
    scope: "one app",
    component: loaded(() => import("../pages/live/page.tsx")),
  },
  {
    path: "/webhooks",
    title: "Webhooks and links",
    icon: "webhooks",
    scope: "one app",
    component: loaded(() => import("../pages/webhooks/page.tsx")),
  },
  {
    path: "/connections",
    title: "Connections",
    icon: "connections",
    scope: "one app",
    component: loaded(() => import("../pages/connections/page.tsx")),
  },
  {
    path: "/posts",
    title: "Posts",
    icon: "posts",
    scope: "one app",
    component: loaded(() => import("../pages/posts/page.tsx")),
  },
  {
    path: "/search",
    title: "Search",
    icon: "search",
    scope: "one app",
    component: loaded(() => import("../pages/search/page.tsx")),
  },
  {
    path: "/sources",
    title: "Sources",
    icon: "sources",
    scope: "any",
    component: loaded(() => import("../pages/sources/page.tsx")),
    isFor: ({ kind }) => kind === "operator",
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
