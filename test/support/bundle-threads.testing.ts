/** Has the threads of this process load the bundle that `bundle.ts` has made. */
import { readFileSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { join } from "node:path"
import workerThreads, { type WorkerOptions } from "node:worker_threads"
import { bundleOptions } from "./bundle-options.testing.ts"

const { SLUICE_TEST_BUNDLE: directory } = process.env

function bundledWorker(bundle: string): typeof workerThreads.Worker {
  const entries = new Map(JSON.parse(readFileSync(join(bundle, "entries.json"), "utf8")) as [string, string][])
  const hooks = bundleOptions()
  return class extends workerThreads.Worker {
    constructor(source: string | URL, options: WorkerOptions = {}) {
      const entry = entries.get(String(source))
      if (entry === undefined) super(source, options)
      else super(new URL(entry), { ...options, execArgv: [...(options.execArgv ?? process.execArgv), ...hooks] })
    }
  }
}

if (directory !== undefined) {
  workerThreads.Worker = bundledWorker(directory)
  syncBuiltinESMExports()
}
