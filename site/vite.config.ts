/** The build of the site: the rule playground, and a page for each document of the repository, as static files. */
import react from "@vitejs/plugin-react"
import { join } from "node:path"
import { defineConfig } from "vite"
import { documentation } from "./documentation/plugin.ts"

const root = join(import.meta.dirname, "..")

export default defineConfig({
  root: import.meta.dirname,
  // The site works below any path of a host.
  base: "./",
  plugins: [react(), documentation(root)],
  build: {
    outDir: join(root, "dist-site"),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
    // The polyfill would request modules itself, which the policy forbids.
    modulePreload: { polyfill: false },
    rolldownOptions: { input: ["playground.html", "document.html"].map((file) => join(import.meta.dirname, file)) },
    target: "es2023",
  },
})
