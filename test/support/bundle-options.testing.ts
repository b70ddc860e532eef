import { join } from "node:path"
import { pathToFileURL } from "node:url"

/** Options of Node by which a process loads the bundle that `bundle.ts` has made; none without one. */
export function bundleOptions(): readonly string[] {
  const { SLUICE_TEST_BUNDLE: bundle } = process.env
  return bundle === undefined ? [] : ["--import", pathToFileURL(join(bundle, "resolve-entries.mjs")).href]
}
