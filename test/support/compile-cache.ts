import { fileURLToPath } from "node:url"

/** Hundreds of commands and servers are started, and each would compile the same sources. */
export const compileCache = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL("../../node_modules/.cache/sluice-tests", import.meta.url)),
}
