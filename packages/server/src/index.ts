/** The server, for whoever starts one: the command, and tests. */
export { ConfigError, loadConfig, printConfig, settingDescriptions } from "./config.ts"
export type { Config, ConfigSources, Posture } from "./config.ts"
export type { AppCredentials, Apps } from "./control/apps.ts"
export { openApps, startServer } from "./main.ts"
export type { RunningServer } from "./main.ts"
export { DataDirectoryInUse } from "./store/embedded/directory-lock.ts"
