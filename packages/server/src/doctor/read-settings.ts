/** The settings of the data directory, and what is wrong with them. */
import { existsSync, statSync } from "node:fs"
import { join } from "node:path"
import { loadConfig, type Config, type ConfigSources, type Posture } from "../config.ts"
import { ConfigError } from "../runtime/config-error.ts"
import { storeFilesIn } from "../store/open.ts"
import { fault, type Finding } from "./finding.ts"
import { settingsFindings } from "./health.ts"

/** Data that has `sluice dev`'s credentials beside it is judged by that posture, all other by the stricter one. */
function postureOf(directory: string): { posture: Posture; credentialsFile: string } {
  const credentialsFile = join(directory, "credentials.json")
  return { posture: existsSync(credentialsFile) ? "dev" : "serve", credentialsFile }
}

/** The settings; when they cannot be read, those that at least say where the store is and how it is opened. */
export function readSettings({ flags, env }: Required<Pick<ConfigSources, "flags" | "env">>): {
  config: Config
  findings: readonly Finding[]
} {
  let wrong: ConfigError | undefined
  const load = (sources: Omit<ConfigSources, "posture">): Config | undefined => {
    try {
      const { data } = loadConfig({ posture: "serve", ...sources })
      return loadConfig({ posture: postureOf(data).posture, ...sources })
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      wrong ??= error
      return undefined
    }
  }
  const { SLUICE_DATA, SLUICE_MASTER_KEY } = env
  const { data } = flags
  const config =
    load({ flags, env }) ??
    load({ flags: { data }, env: { SLUICE_DATA, SLUICE_MASTER_KEY } }) ??
    load({ flags: { data }, env: { SLUICE_DATA } }) ??
    loadConfig({ posture: "serve", env: {} })
  const { posture, credentialsFile } = postureOf(config.data)
  if (wrong !== undefined) {
    return {
      config,
      findings: [
        fault(
          "settings",
          wrong.message,
          `No server starts like this. The rest is looked at with the defaults, in ${config.data}.`,
        ),
      ],
    }
  }
  const files = [config.data, storeFilesIn(config.data).find().path, credentialsFile]
    .filter((path) => existsSync(path))
    .map((path) => ({ path, mode: statSync(path).mode }))
  // For a reader who wonders why a setting or an address is judged as it is.
  const isThere = posture === "dev" ? "is there" : "is not there"
  const why = `${credentialsFile} ${isThere}, so this is the data of \`sluice ${posture}\`.`
  return { config, findings: settingsFindings(config, { why, files }) }
}
