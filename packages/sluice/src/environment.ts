/** The one place of this package that reads the environment. */

/** What the command takes from its environment. */
export interface Environment {
  /** `SLUICE_URL`: where the server is. Absent when unset or empty. */
  readonly url: string | undefined
  /** `SLUICE_TOKEN`: who is asking. Absent when unset or empty. */
  readonly token: string | undefined
  /** `SLUICE_CONSUMER_SECRET`: of the app, by which `sluice listen` passes challenges. Absent when unset or empty. */
  readonly consumerSecret: string | undefined
  /** `SLUICE_CLIENT_SECRET`: the same, of an app whose client secret is known. Absent when unset or empty. */
  readonly clientSecret: string | undefined
  /** `SLUICE_DATA`: the data directory, which the server's configuration reads too. */
  readonly data: string | undefined
  /** False under `NO_COLOR` and on a dumb terminal. Source: no-color.org. */
  readonly mayColour: boolean
  /** The terminal only prints: nothing can be drawn over. */
  readonly isDumbTerminal: boolean
  /** All but the client's own four, for the server's configuration to choose from. */
  readonly server: Readonly<Record<string, string | undefined>>
}

/** The environment of this process. */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const {
    SLUICE_URL: url,
    SLUICE_TOKEN: token,
    SLUICE_CONSUMER_SECRET: consumerSecret,
    SLUICE_CLIENT_SECRET: clientSecret,
    ...server
  } = variables
  const isDumbTerminal = variables["TERM"] === "dumb"
  return {
    url: url === "" ? undefined : url,
    token: token === "" ? undefined : token,
    consumerSecret: consumerSecret === "" ? undefined : consumerSecret,
    clientSecret: clientSecret === "" ? undefined : clientSecret,
    data: server["SLUICE_DATA"] === "" ? undefined : server["SLUICE_DATA"],
    mayColour: (variables["NO_COLOR"] ?? "") === "" && !isDumbTerminal,
    isDumbTerminal,
    server,
  }
}
