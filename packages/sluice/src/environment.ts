/** The settings of the command from the environment. No other file of the package reads it. */

import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"

/** The settings of the command. */
export interface Environment {
  /** `SLUICE_URL`: the URL of the server. Absent when unset or empty. */
  readonly url: string | undefined
  /** `SLUICE_TOKEN`: the bearer token. Absent when unset or empty. */
  readonly token: string | undefined
  /** `SLUICE_CONSUMER_SECRET`: the app's secret, with which `sluice listen` answers challenges. Absent when unset or empty. */
  readonly consumerSecret: string | undefined
  /** `SLUICE_CLIENT_SECRET`: the app's client secret, for the same purpose. Absent when unset or empty. */
  readonly clientSecret: string | undefined
  /** `SLUICE_CONTEXT`: the name of a server that `sluice login` has saved. Absent when unset or empty. */
  readonly context: string | undefined
  /** The directory of the user's files of this command. Source: XDG Base Directory Specification, which ignores relative paths. */
  readonly userDirectory: string
  /** `SLUICE_DATA`: the data directory, which the server's configuration reads too. */
  readonly data: string | undefined
  /** `npx` or `npm start` has started this process, and it is to end with it. */
  readonly isOfNpm: boolean
  /** False under `NO_COLOR` and on a dumb terminal. Source: no-color.org. */
  readonly mayColour: boolean
  /** The terminal cannot redraw lines. */
  readonly isDumbTerminal: boolean
  /** The other variables, for the server's configuration. */
  readonly server: Readonly<Record<string, string | undefined>>
}

/** The environment of this process. */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const {
    SLUICE_URL: url,
    SLUICE_TOKEN: token,
    SLUICE_CONSUMER_SECRET: consumerSecret,
    SLUICE_CLIENT_SECRET: clientSecret,
    SLUICE_CONTEXT: context,
    ...server
  } = variables
  const isDumbTerminal = variables["TERM"] === "dumb"
  const configHome = variables["XDG_CONFIG_HOME"] ?? ""
  return {
    url: url === "" ? undefined : url,
    token: token === "" ? undefined : token,
    consumerSecret: consumerSecret === "" ? undefined : consumerSecret,
    clientSecret: clientSecret === "" ? undefined : clientSecret,
    context: context === "" ? undefined : context,
    userDirectory: join(isAbsolute(configHome) ? configHome : join(homedir(), ".config"), "sluice"),
    data: server["SLUICE_DATA"] === "" ? undefined : server["SLUICE_DATA"],
    isOfNpm: variables["npm_command"] === "exec" || variables["npm_command"] === "start",
    mayColour: (variables["NO_COLOR"] ?? "") === "" && !isDumbTerminal,
    isDumbTerminal,
    server,
  }
}
