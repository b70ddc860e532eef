/** Several Sluice processes on one database, each behind a separate network, and all behind one balancer. */
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../support/temporary-directory.testing.ts"
import { Balancer } from "./balancer.ts"
import { PrivatePostgres } from "./private-postgres.ts"
import { TcpProxy } from "../support/tcp-proxy.testing.ts"

/** One of the processes; its name survives a restart. */
export interface Member {
  readonly network: TcpProxy
  process: SluiceProcess
  readyLine: string
}

/** Options of a cluster. */
interface ClusterOptions {
  readonly processes?: number
  /** The server of the database, which the caller disposes of; without it, the cluster starts one. */
  readonly postgres?: PrivatePostgres
  /** URL of the database for every process; without it, each is behind a separate network. */
  readonly database?: string
  /** Settings of every process. */
  readonly env?: Readonly<Record<string, string>>
  /** Additional settings of each process, by number. */
  readonly envOf?: (number: number) => Readonly<Record<string, string>>
}

/** A running cluster. */
export class Cluster implements AsyncDisposable {
  readonly #resources: AsyncDisposableStack
  readonly #options: ClusterOptions
  readonly directory: string
  /** The server that has the store now. */
  postgres: PrivatePostgres
  readonly balancer: Balancer
  readonly members: Member[] = []

  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    await using resources = new AsyncDisposableStack()
    const directory = resources.use(await temporaryDirectory())
    const postgres = options.postgres ?? resources.use(await PrivatePostgres.start())
    const balancer = resources.use(await Balancer.start())
    const cluster = new Cluster({ resources: resources.move(), options, directory, postgres, balancer })
    try {
      for (let number = 0; number < (options.processes ?? 3); number += 1) await cluster.#join(number)
    } catch (error) {
      await cluster[Symbol.asyncDispose]()
      throw error
    }
    return cluster
  }

  private constructor(parts: {
    readonly resources: AsyncDisposableStack
    readonly options: ClusterOptions
    readonly directory: TemporaryDirectory
    readonly postgres: PrivatePostgres
    readonly balancer: Balancer
  }) {
    this.#resources = parts.resources
    this.#options = parts.options
    this.directory = parts.directory.path
    this.postgres = parts.postgres
    this.balancer = parts.balancer
  }

  member(number: number): Member {
    const member = this.members[number]
    if (member === undefined) throw new Error(`no process ${number}`)
    return member
  }

  /** The ready line of one server, with the balancer's URL. */
  get readyLine(): string {
    return JSON.stringify({ ...(JSON.parse(this.member(0).readyLine) as object), url: this.balancer.url })
  }

  /** Kills or ends a process, and resolves after its end. From then on the balancer sends requests to the others. */
  async end(number: number, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const { process, readyLine } = this.member(number)
    this.balancer.servers = this.balancer.servers.filter((url) => url !== urlIn(readyLine))
    process.end(signal)
    await process.ended()
  }

  /** Starts an ended process again, with these options of Node. */
  async startAgain(number: number, nodeOptions: readonly string[] = []): Promise<void> {
    const member = this.member(number)
    member.process = this.#spawn(number, member.network, nodeOptions)
    member.readyLine = await member.process.mustBeReady()
    this.balancer.servers = [...this.balancer.servers, urlIn(member.readyLine)]
  }

  /** Number of links that each living process drives, the fewest first. */
  async spread(): Promise<readonly number[]> {
    const counts = await this.postgres.query(
      `SELECT count(links.id) FROM processes LEFT JOIN links ON links.process = processes.number
       WHERE alive_until > clock_timestamp() GROUP BY processes.number ORDER BY count(links.id)`,
    )
    return counts.map(Number)
  }

  /** Errors that the processes logged; the last part of each. */
  get errors(): readonly string[] {
    return this.members.flatMap(({ process: { errors } }, number) =>
      errors
        .split("\n")
        .filter((line) => /"level":[56]0/.test(line))
        .map((line) => `${number}: ${line}`),
    )
  }

  /** Errors that are not about an unavailable database. */
  get unexpectedErrors(): readonly string[] {
    return this.errors.filter((line) => !line.includes('"reason":"PostgreSQL is not available: '))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map(({ process }) => process[Symbol.asyncDispose]()))
    await this.#resources.disposeAsync()
  }

  async #join(number: number): Promise<void> {
    await mkdir(join(this.directory, String(number)))
    const network = this.#resources.use(await TcpProxy.to(this.postgres.port))
    const process = this.#spawn(number, network)
    const member = { network, process, readyLine: "" }
    this.members.push(member)
    member.readyLine = await process.mustBeReady()
    this.balancer.servers = [...this.balancer.servers, urlIn(member.readyLine)]
  }

  #spawn(number: number, network: TcpProxy, nodeOptions: readonly string[] = []): SluiceProcess {
    const { env, envOf, database = this.postgres.url(network.port) } = this.#options
    return new SluiceProcess(join(this.directory, String(number)), {
      nodeOptions,
      env: { ...env, ...envOf?.(number) },
      database,
    })
  }
}

function urlIn(readyLine: string): string {
  return (JSON.parse(readyLine) as { url: string }).url
}
