/** Why the server does not start with the settings given. Its message is for the person who started it. */
export class ConfigError extends Error {
  override readonly name = "ConfigError"
}
