/** Servers that a source reads from, for one test each, which may kill them. */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { isListening } from "../../packages/server/src/sources/reachable.testing.ts"
import type { ServedKind } from "../../packages/server/src/sources/source-peers.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { waitFor } from "./app-client.ts"
import { freePort, PrivatePostgres } from "./private-postgres.ts"

/** A server that keeps its data over its kills. Disposing of it ends it and removes its data. */
export interface KillableServer extends AsyncDisposable {
  readonly port: number
  /** Starts it after its end, and resolves when it can be used. */
  begin(): Promise<void>
  /** Ends it at once: it closes no connection in order and writes nothing. */
  kill(): Promise<void>
}

/** Starts a server for sources of a kind. */
export async function startKillable(kind: ServedKind): Promise<KillableServer> {
  if (kind !== "outbox") return PrivateBroker.start(kind)
  const database = await PrivatePostgres.start()
  return {
    port: database.port,
    begin: () => database.begin(),
    // Its processes end together, which those of a killed one do not.
    kill: () => database.crash(),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

type BrokerKind = Exclude<ServedKind, "outbox">

/** How a broker is started. */
interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Each writes what it confirms to its files first, so that a kill of its process loses nothing of it. */
const programs: Readonly<Record<BrokerKind, (directory: string, port: number) => Promise<Program>>> = {
  async redis(directory, port) {
    const files = ["--dir", directory, "--appendonly", "yes", "--appendfsync", "always", "--save", ""]
    return { command: "redis-server", args: ["--port", `${port}`, "--bind", "127.0.0.1", ...files] }
  },
  async nats(directory, port) {
    return { command: "nats-server", args: ["-a", "127.0.0.1", "-p", `${port}`, "-js", "-sd", directory] }
  },
  async rabbitmq(directory, port) {
    const [config, plugins] = [join(directory, "none"), join(directory, "enabled_plugins")]
    await writeFile(plugins, "[].")
    return {
      // The program that Debian's script starts as another user.
      command: "/usr/lib/rabbitmq/bin/rabbitmq-server",
      args: [],
      env: {
        HOME: directory,
        RABBITMQ_NODENAME: `sluice-${port}@localhost`,
        RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
        RABBITMQ_NODE_PORT: `${port}`,
        RABBITMQ_DIST_PORT: `${await freePort()}`,
        RABBITMQ_MNESIA_BASE: directory,
        RABBITMQ_LOGS: "-",
        RABBITMQ_CONFIG_FILE: config,
        RABBITMQ_ENABLED_PLUGINS_FILE: plugins,
        RABBITMQ_PID_FILE: join(directory, "pid"),
      },
    }
  },
}

class PrivateBroker implements KillableServer {
  readonly port: number
  readonly #program: Program
  readonly #resources: AsyncDisposableStack
  #child: ChildProcess | undefined

  static async start(kind: BrokerKind): Promise<PrivateBroker> {
    await using resources = new AsyncDisposableStack()
    const directory = resources.use(await temporaryDirectory())
    const port = await freePort()
    const broker = new PrivateBroker(port, await programs[kind](directory.path, port), resources.move())
    try {
      await broker.begin()
      return broker
    } catch (error) {
      await broker[Symbol.asyncDispose]()
      throw error
    }
  }

  private constructor(port: number, program: Program, resources: AsyncDisposableStack) {
    this.port = port
    this.#program = program
    this.#resources = resources
  }

  async begin(): Promise<void> {
    const { command, args, env } = this.#program
    // A group of its own: what a script starts ends with it.
    this.#child = spawn(command, args, { stdio: "ignore", detached: true, env: { ...process.env, ...env } })
    await once(this.#child, "spawn")
    await waitFor(
      () => isListening({ host: "127.0.0.1", port: this.port }),
      (isThere) => isThere,
    )
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    process.kill(-child.pid, "SIGKILL")
    await ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    await this.#resources.disposeAsync()
  }
}
