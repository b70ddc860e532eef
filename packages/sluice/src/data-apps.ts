import { existsSync } from "node:fs"
import { loadConfig, openApps, type Apps } from "@sluice/server"
import type { Environment } from "./environment.ts"
import { Failure } from "./failure.ts"
import { tellingServerFaults } from "./server-faults.ts"

/**
 * Runs `use` on the applications of a data directory, whether a server runs on it or not. Only `mayCreate` makes a
 * directory that is not there.
 */
export async function withApps(
  data: string | undefined,
  environment: Environment,
  mayCreate: boolean,
  use: (apps: Apps) => Promise<void>,
): Promise<void> {
  await tellingServerFaults(async () => {
    const config = loadConfig({ posture: "serve", flags: { data }, env: environment.server })
    if (!mayCreate && !existsSync(config.data)) {
      throw new Failure(`There is no data directory ${config.data}.`, [
        "Name the one that the server uses with --data or SLUICE_DATA.",
      ])
    }
    await using opened = await openApps(config)
    await use(opened.apps)
  })
}
