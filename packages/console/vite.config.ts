/** The build of the console: static files with hashed names below `/console`, each beside its compressed forms. */
import { readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import react from "@vitejs/plugin-react"
import { defineConfig, type Plugin } from "vite"

/** Smaller files gain nothing. */
const compressedBytesMin = 1_024

/** Writes `.br` and `.gz` beside every file of text, so that the server compresses nothing. */
function compressedFiles(): Plugin {
  return {
    name: "compressed-files",
    apply: "build",
    async writeBundle({ dir = "" }) {
      for (const name of await readdir(dir, { recursive: true })) {
        if (!/\.(css|js|svg)$/.test(name)) continue
        const bytes = await readFile(join(dir, name))
        if (bytes.length < compressedBytesMin) continue
        const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
        await writeFile(join(dir, `${name}.br`), await promisify(brotliCompress)(bytes, { params }))
        await writeFile(join(dir, `${name}.gz`), await promisify(gzip)(bytes, { level: 9 }))
      }
    },
  }
}

export default defineConfig({
  root: import.meta.dirname,
  base: "/console/",
  // The server puts the nonce of each response in its place.
  html: { cspNonce: "__CSP_NONCE__" },
  plugins: [react(), compressedFiles()],
  build: {
    // No image or font becomes part of a style sheet or script: the policy names `data:` for images only.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
    target: "es2023",
  },
})
