import { startServer, type Config, type RunningServer } from "@sluice/server"
import { aborted, interruption } from "./interruption.ts"

/**
 * Starts a server, lets `ready` do what it must, and serves until SIGTERM or SIGINT; then everything under way is
 * finished. Throws what the server fails with.
 */
export async function runServer(
  config: Config,
  ready: (server: RunningServer) => Promise<void>,
): Promise<void> {
  const signal = interruption()
  const server = await startServer(config)
  try {
    await ready(server)
    await Promise.race([aborted(signal), server.failed])
  } finally {
    await server.close()
  }
}
