/** The frame of every page: navigation, app and theme. On narrow screens they are in a menu. */
import { Dialog } from "@base-ui/react/dialog"
import { useEffect, useRef, useState, type ReactNode } from "react"
import { Link, useLocation } from "wouter"
import { useConnectionLostAt } from "../api/connection.ts"
import { useSession } from "../api/session.ts"
import { Icon } from "../components/icon.tsx"
import { VisuallyHidden } from "../components/visually-hidden.tsx"
import { AppSwitch } from "./app-switch.tsx"
import { ConnectionBanner } from "./connection-banner.tsx"
import styles from "./layout.module.css"
import { pages } from "./pages.ts"
import { themes, useTheme } from "./theme.ts"

/** The layout around a page. */
export function Layout({ children }: { readonly children: ReactNode }): ReactNode {
  const [location] = useLocation()
  const isLost = useConnectionLostAt() !== undefined
  const main = useRef<HTMLElement>(null)
  const page = pages.find(({ path }) => isWithin(location, path))
  const title = page?.title ?? "Sluice"
  useEffect(() => {
    document.title = `${title} · Sluice`
  }, [title])
  return (
    <div className={styles["frame"]}>
      <a
        className={styles["skip"]}
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          main.current?.focus()
        }}
      >
        Skip to content
      </a>
      <aside className={styles["sidebar"]}>
        <Brand />
        <Navigation />
        <Account />
      </aside>
      <header className={styles["bar"]}>
        <SmallMenu location={location} />
        <span className={styles["barTitle"]}>{title}</span>
      </header>
      <div className={styles["column"]}>
        <ConnectionBanner />
        <main ref={main} id="main" className={styles["main"]} data-lost={isLost} tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  )
}

function Brand(): ReactNode {
  const { posture } = useSession()
  return (
    <div className={styles["brand"]}>
      <Icon name="logo" size={22} />
      <span>Sluice</span>
      {posture === "dev" && <span className={styles["posture"]}>dev</span>}
    </div>
  )
}

function Navigation({ onChoose }: { readonly onChoose?: () => void }): ReactNode {
  const session = useSession()
  const [location] = useLocation()
  return (
    <nav aria-label="Pages" className={styles["navigation"]}>
      <ul>
        {pages
          .filter((page) => page.isFor?.(session) ?? true)
          .map(({ path, title, icon }) => {
            const isCurrent = isWithin(location, path)
            return (
              <li key={path}>
                <Link href={path} aria-current={isCurrent ? "page" : undefined} onClick={() => onChoose?.()}>
                  <Icon name={icon} />
                  {title}
                </Link>
              </li>
            )
          })}
      </ul>
      <a href="/docs" className={styles["docs"]}>
        <Icon name="docs" />
        API reference
      </a>
    </nav>
  )
}

function Account(): ReactNode {
  const { kind, application, signOut } = useSession()
  return (
    <div className={styles["account"]}>
      {kind === "operator" && <AppSwitch />}
      <div className={styles["who"]}>
        <span className={styles["whoName"]} title={application?.id}>
          {kind === "operator" ? "Operator" : application?.name}
        </span>
        <button type="button" className={styles["signOut"]} onClick={signOut}>
          Sign out
        </button>
      </div>
      <ThemeChoice />
    </div>
  )
}

function ThemeChoice(): ReactNode {
  const [theme, chooseTheme] = useTheme()
  return (
    <div role="group" aria-label="Theme" className={styles["themes"]}>
      {themes.map((one) => (
        <button key={one} type="button" aria-pressed={one === theme} onClick={() => chooseTheme(one)}>
          <Icon name={one} size={14} />
          <VisuallyHidden>{one === "system" ? "System" : one === "light" ? "Light" : "Dark"}</VisuallyHidden>
        </button>
      ))}
    </div>
  )
}

function SmallMenu({ location }: { readonly location: string }): ReactNode {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [location])
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger className={styles["menuButton"]} aria-label="Menu">
        <Icon name="menu" size={18} />
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles["backdrop"]} />
        <Dialog.Popup className={styles["drawer"]} aria-label="Menu">
          <div className={styles["drawerTop"]}>
            <Brand />
            <Dialog.Close className={styles["menuButton"]} aria-label="Close the menu">
              <Icon name="close" size={18} />
            </Dialog.Close>
          </div>
          <Navigation onChoose={() => setOpen(false)} />
          <Account />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function isWithin(location: string, path: string): boolean {
  return path === "/" ? location === "/" : location === path || location.startsWith(`${path}/`)
}
