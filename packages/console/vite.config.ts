/** The build of the console: static files with hashed names below `/console`, with compressed forms. */
import scalar from "@scalar/fastify-api-reference"
import Fastify from "fastify"
import { readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import react from "@vitejs/plugin-react"
import { defineConfig, type Plugin } from "vite"

/** Smaller files gain nothing. */
const compressedBytesMin = 1_024

/** Larger files are compressed less: at the highest quality a megabyte takes five seconds, and is 10 % smaller. */
const bestBytesMax = 1_048_576
const fastQuality = 6

/** Writes `.br` and `.gz` next to every text file, so that the server does not compress. */
function compressedFiles(): Plugin {
  return {
    name: "compressed-files",
    apply: "build",
    async writeBundle({ dir = "" }) {
      for (const name of await readdir(dir, { recursive: true })) {
        if (!/\.(css|js|svg)$/.test(name)) continue
        const bytes = await readFile(join(dir, name))
        if (bytes.length < compressedBytesMin) continue
        const quality = bytes.length > bestBytesMax ? fastQuality : constants.BROTLI_MAX_QUALITY
        const params = { [constants.BROTLI_PARAM_QUALITY]: quality }
        await writeFile(join(dir, `${name}.br`), await promisify(brotliCompress)(bytes, { params }))
        await writeFile(join(dir, `${name}.gz`), await promisify(gzip)(bytes, { level: 9 }))
      }
    },
  }
}

/**
 * Adds the script of the API reference to `docs.html`, under a hashed name. Scalar publishes it as a file within its
 * plugin for Fastify, so that plugin is asked for it.
 */
function apiReference(): Plugin {
  const isReference = (path: string): boolean => path === "/docs.html"
  return {
    name: "api-reference",
    apply: "build",
    async buildStart() {
      const server = Fastify()
      await server.register(scalar, { routePrefix: "/docs", configuration: { url: "/openapi.json" } })
      const { statusCode, body } = await server.inject("/docs/js/scalar.js")
      await server.close()
      if (statusCode !== 200) throw new Error(`The script of the API reference returned ${statusCode}.`)
      this.emitFile({ type: "asset", name: "api-reference.js", source: body })
    },
    transformIndexHtml: {
      order: "post",
      handler(html, { path, bundle = {} }) {
        if (!isReference(path)) return html
        const script = Object.keys(bundle).find((name) => /api-reference-[^/]+\.js$/.test(name))
        return html.replace("</body>", `<script src="/console/${script}"></script></body>`)
      },
    },
  }
}

export default defineConfig({
  root: import.meta.dirname,
  base: "/console/",
  // The server puts the nonce of each response in its place.
  html: { cspNonce: "__CSP_NONCE__" },
  plugins: [react(), apiReference(), compressedFiles()],
  build: {
    // No image or font becomes part of a style sheet or script: the policy names `data:` for images only.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
    rolldownOptions: { input: ["index.html", "docs.html"] },
    target: "es2023",
  },
})
