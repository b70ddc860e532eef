/** The settings of the data directory, and what is wrong with them. */
import { existsSync, statSync } from "node:fs"
import { join } from "node:path"
import { loadConfig, type Config, type ConfigSources, type Posture } from "../config.ts"
import { ConfigError } from "../runtime/config-error.ts"
import { storeEngineOf } from "../store/open.ts"
import { fault, type Finding } from "./finding.ts"
import { settingsFindings } from "./health/settings.ts"

/** The file in a data directory in which `sluice dev` leaves its credentials. */
function credentialsFileIn(directory: string): string {
  return join(directory, "credentials.json")
}

/**
 * Data with `sluice dev`'s credentials next to it is judged by that posture, all other by the stricter one. A database
 * has no files next to it.
 */
function postureOf(config: Config): Posture {
  const { files } = storeEngineOf(config)
  return files !== undefined && existsSync(credentialsFileIn(files.directory)) ? "dev" : "serve"
}

/**
 * The settings; when they cannot be read, those that at least say where the store is and how it is opened, and none when
 * they say nothing of a database that is named.
 */
export function readSettings({ flags, env }: Required<Pick<ConfigSources, "flags" | "env">>): {
  config: Config | undefined
  findings: readonly Finding[]
} {
  let wrong: ConfigError | undefined
  const load = (sources: Omit<ConfigSources, "posture">): Config | undefined => {
    try {
      const posture = postureOf(loadConfig({ posture: "serve", ...sources }))
      return loadConfig({ posture, ...sources })
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      wrong ??= error
      return undefined
    }
  }
  const { SLUICE_DATA, SLUICE_DATABASE, SLUICE_MASTER_KEY } = env
  const { data, database } = flags
  const config =
    load({ flags, env }) ??
    load({ flags: { data, database }, env: { SLUICE_DATA, SLUICE_DATABASE, SLUICE_MASTER_KEY } }) ??
    ((database ?? SLUICE_DATABASE) === undefined
      ? (load({ flags: { data }, env: { SLUICE_DATA } }) ?? loadConfig({ posture: "serve", env: {} }))
      : undefined)
  if (wrong !== undefined) {
    const rest =
      config === undefined
        ? ""
        : ` The rest is examined with the defaults, in ${config.database === undefined ? config.data : "the database"}.`
    return { config, findings: [fault("settings", wrong.message, `No server starts like this.${rest}`)] }
  }
  return { config, findings: config === undefined ? [] : whyAndHow(config) }
}

/** Findings about the settings and the files that they name. */
function whyAndHow(config: Config): readonly Finding[] {
  const { files: storeFiles } = storeEngineOf(config)
  if (storeFiles === undefined) {
    return settingsFindings(config, { why: "The store is a database, so this is judged as `sluice serve`.", files: [] })
  }
  const credentialsFile = credentialsFileIn(storeFiles.directory)
  const files = [storeFiles.directory, storeFiles.find().path, credentialsFile]
    .filter((path) => existsSync(path))
    .map((path) => ({ path, mode: statSync(path).mode }))
  // For a reader who wonders why a setting or an address is judged as it is.
  const isThere = config.posture === "dev" ? "is there" : "is not there"
  const why = `${credentialsFile} ${isThere}, so this is the data of \`sluice ${config.posture}\`.`
  return settingsFindings(config, { why, files })
}
