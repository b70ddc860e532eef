import type { ReactNode } from "react"

/** Outlines on a grid of 24, drawn with lines of one width. */
const outlines = {
  logo: "M3 7c3-3 6-3 9 0s6 3 9 0M3 13c3-3 6-3 9 0s6 3 9 0M3 19c3-3 6-3 9 0s6 3 9 0",
  overview: "M4 19V10M10 19V5M16 19v-7M22 19H2",
  rules: "M4 6h16M7 12h10M10 18h4",
  live: "M5 12a7 7 0 0 1 2-5M19 12a7 7 0 0 0-2-5M5 12a7 7 0 0 0 2 5M19 12a7 7 0 0 1-2 5M12 12h.01M9 12a3 3 0 0 1 6 0 3 3 0 0 1-6 0",
  webhooks: "M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1.500 1.500M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1.500-1.500",
  connections: "M3 12h5M16 12h5M8 8v8M16 8v8M8 10h4M8 14h4",
  sources: "M12 3v11M7 9.500 12 14.500 17 9.500M4 15v5h16v-5",
  posts: "M4 5h16v11H9l-5 4zM8 9h8M8 12.500h5",
  apps: "M14 10a4 4 0 1 0-3.500 4L12 15.500 14 17.500h2V20h3v-3l-5.500-5.500M7.500 8h.01",
  trouble: "M12 4 2.500 20h19zM12 10v4M12 17h.01",
  docs: "M5 4h9l5 5v11H5zM14 4v5h5M8.500 13h7M8.500 16.500h5",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6 6 18",
  check: "m5 12.500 4.500 4.500L19 7.500",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  more: "M4 12h2M11 12h2M18 12h2",
  plus: "M12 5v14M5 12h14",
  search: "M10.500 4a6.500 6.500 0 1 1 0 13 6.500 6.500 0 0 1 0-13M15.500 15.500 20 20",
  chevron: "m9 6 6 6-6 6",
  alert: "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18M12 8v5M12 16h.01",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  light:
    "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500 19 19M5 19l1.500-1.500M17.500 6.500 19 5",
  dark: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z",
} as const

export type IconName = keyof typeof outlines

/** An icon next to a text, or in a control with an accessible name; hidden from screen readers. `size` in px. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
      style={{ flex: "none" }}
    >
      <path d={outlines[name]} />
    </svg>
  )
}
