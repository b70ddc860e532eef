/** Brokers and databases that are at hand, each with a message alone, acknowledged as durable. Linux only. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { jetstream, jetstreamManager } from "@nats-io/jetstream"
import { connect } from "@nats-io/transport-node"
import { Client } from "pg"
import { createClient } from "redis"
import { endWithBench } from "./child-processes.ts"
import { MadePosts } from "./made-posts.ts"
import { pidsOf, processUsage, totalUs, usedBetween } from "./process-usage.ts"
import { newDatabase, urlOf } from "./psql.ts"

/** The cost of a message. */
export interface LonePeer {
  readonly name: string
  /** Microseconds of processor time of its processes. */
  readonly cpuUs: number
  readonly writtenBytes: number
}

/** A peer at work. */
interface RunningPeer extends AsyncDisposable {
  readonly pids: readonly number[]
  /** Resolves when the message is acknowledged. */
  send(message: string): Promise<unknown>
}

const peers: Readonly<Record<string, () => Promise<RunningPeer>>> = {
  "nats-jetstream": startNats,
  postgresql: startPostgres,
  "redis-flushed": startRedis,
}

/** Sends this many messages to each peer, one after the other. Prints on standard error which is not at hand. */
export async function lonePeers(count: number): Promise<readonly LonePeer[]> {
  const seen: LonePeer[] = []
  for (const [name, start] of Object.entries(peers)) {
    try {
      seen.push({ name, ...(await measure(start, count)) })
    } catch (error) {
      process.stderr.write(`${name} is left out: ${(error as Error).message}\n`)
    }
  }
  return seen
}

async function measure(start: () => Promise<RunningPeer>, count: number): Promise<Omit<LonePeer, "name">> {
  await using peer = await start()
  const posts = new MadePosts({ profile: "An author." })
  const sendAll = async (): Promise<void> => {
    for (let sent = 0; sent < count; sent++) await peer.send(posts.take(1))
  }
  // Warms up.
  await sendAll()
  const before = processUsage(peer.pids)
  await sendAll()
  const used = usedBetween(before, processUsage(peer.pids))
  return { cpuUs: totalUs(used) / count, writtenBytes: used.writtenBytes / count }
}

async function startNats(): Promise<RunningPeer> {
  const connection = await connect({ servers: "127.0.0.1:4222", timeout: 1_000 })
  const name = `lone-${process.pid}`
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name, subjects: [name] })
  const stream = jetstream(connection)
  return {
    pids: pidsOf("nats-server"),
    send: (message) => stream.publish(name, message),
    async [Symbol.asyncDispose]() {
      await manager.streams.delete(name)
      await connection.close()
    },
  }
}

async function startPostgres(): Promise<RunningPeer> {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await newDatabase())
  const client = new Client({ connectionString: urlOf(database) })
  await client.connect()
  resources.defer(() => client.end())
  await client.query("CREATE TABLE posts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, post text)")
  const owned = resources.move()
  return {
    pids: pidsOf("postgres"),
    send: (post) => client.query({ name: "insert", text: "INSERT INTO posts (post) VALUES ($1)", values: [post] }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function startRedis(): Promise<RunningPeer> {
  await using resources = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), "sluice-redis-"))
  resources.defer(() => rm(directory, { recursive: true, force: true }))
  const socket = join(directory, "socket")
  const settings = ["--port", "0", "--unixsocket", socket, "--dir", directory, "--appendonly", "yes"]
  const server = endWithBench(spawn("redis-server", [...settings, "--appendfsync", "always"], { stdio: "ignore" }))
  resources.defer(async () => {
    server.kill()
    await once(server, "exit")
  })
  await once(server, "spawn")
  const client = await createClient({ socket: { path: socket, tls: false } })
    .on("error", () => undefined)
    .connect()
  resources.defer(() => client.close())
  const owned = resources.move()
  return {
    pids: [server.pid ?? 0],
    send: (post) => client.xAdd("posts", "*", { post }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
