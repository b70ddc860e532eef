/**
 * Faults of the disk and of the clock, for a server that starts with them: a library in C, built on first use,
 * intercepts the server's calls of its C library, and a file controls it. `preload/faults.c` describes the rest.
 */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  writeSync,
} from "node:fs"
import { endianness } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const source = fileURLToPath(new URL("preload/faults.c", import.meta.url))
const builtDirectory = fileURLToPath(new URL("../../node_modules/.cache/sluice-faults-preload", import.meta.url))

/** Faults of the disk. The numbers are those of the library. */
const modes = {
  none: 0,
  "disk-full": 1,
  "sync-fails": 2,
  "write-fails": 3,
  "short-writes": 4,
  "read-fails": 5,
} as const

/** Hits so far, by mode. `isLoaded`: the server runs with the library. */
interface Hits {
  readonly isLoaded: boolean
  readonly full: number
  readonly syncs: number
  readonly writes: number
  readonly shorts: number
  readonly reads: number
}

/** The size of the library's `struct control` in words: eight numbers, two of two words, one, and padding. */
const controlWords = 14
const badFromAt = 32
const badToAt = 40
const wordBytes = 4
const passAt = wordBytes
const clockAt = 2 * wordBytes

/** A machine that turns faults on and off until its disposal. */
export interface FaultyMachine extends Disposable {
  /** Environment that a server must start with. */
  readonly env: Readonly<Record<string, string>>
  /** Sets the disk's fault, which begins after `pass` more successful calls. */
  turnDisk(mode: keyof typeof modes, pass?: number): void
  /** From now on, reads of these bytes of the store fail, the end exclusive. */
  breakBytes(from: number, to: number): void
  /** From now on, the wall clock is off by this many seconds. */
  setClockOff(seconds: number): void
  hits(): Hits
}

/** The reason why these faults cannot run here; undefined when they can. A build machine must have a compiler. */
export const preloadMissing = reasonAgainst()

/** A machine whose disk is at `directory`; the control file next to it is not on the disk. */
export function faultyMachine(directory: string): FaultyMachine {
  const controlFile = `${directory}.faults`
  const control = openSync(controlFile, "w+")
  writeSync(control, Buffer.alloc(controlWords * wordBytes))
  const write = (value: number, at: number): void => {
    const word = Buffer.alloc(wordBytes)
    word.writeInt32LE(value)
    writeSync(control, word, 0, wordBytes, at)
  }
  return {
    env: {
      LD_PRELOAD: library(),
      FAULTS_CONTROL: controlFile,
      FAULTS_DIRECTORY: join(realpathSync(dirname(directory)), directory.slice(dirname(directory).length + 1)),
    },
    turnDisk(mode, pass = 0) {
      write(pass, passAt)
      write(modes[mode], 0)
    },
    breakBytes(from, to) {
      for (const [value, at] of [
        [from, badFromAt],
        [to, badToAt],
      ] as const) {
        const bytes = Buffer.alloc(2 * wordBytes)
        bytes.writeBigUInt64LE(BigInt(value))
        writeSync(control, bytes, 0, bytes.length, at)
      }
      write(modes["read-fails"], 0)
    },
    setClockOff: (seconds) => write(seconds, clockAt),
    hits() {
      const words = Buffer.alloc(controlWords * wordBytes)
      readSync(control, words, 0, words.length, 0)
      const [, , , loaded = 0, full = 0, syncs = 0, writes = 0, shorts = 0, , , , , reads = 0] = Array.from(
        { length: controlWords },
        (_, at) => words.readUInt32LE(at * wordBytes),
      )
      return { isLoaded: loaded === 1, full, syncs, writes, shorts, reads }
    },
    [Symbol.dispose]: () => closeSync(control),
  }
}

/** The environment of a client whose sockets buffer few unread bytes. */
export function stallingClientEnv(): Readonly<Record<string, string>> {
  return { LD_PRELOAD: library(), FAULTS_RECEIVE_BUFFER: "4096" }
}

/** The environment of a server whose sockets buffer few bytes that clients do not read. */
export function smallSendBufferEnv(): Readonly<Record<string, string>> {
  return { LD_PRELOAD: library(), FAULTS_SEND_BUFFER: "65536" }
}

function reasonAgainst(): string | undefined {
  const reason =
    process.platform !== "linux" || endianness() !== "LE"
      ? `LD_PRELOAD is not for ${process.platform} ${endianness()}`
      : spawnSync("gcc", ["--version"]).status === 0
        ? undefined
        : "there is no gcc"
  if (reason !== undefined) {
    assert(process.env.CI === undefined, `faults of disk and clock cannot run here: ${reason}`)
    console.log(`SKIPPED, faults of disk and clock: ${reason}`)
  }
  return reason
}

/** Path of the library, built unless it is there for the present source. */
function library(): string {
  const version = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 16)
  const built = join(builtDirectory, `faults-${version}.so`)
  if (existsSync(built)) return built
  mkdirSync(builtDirectory, { recursive: true })
  // Another test may build it at the same time; either result is whole.
  const draft = `${built}.${process.pid}`
  const flags = ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror"]
  const { status, stderr } = spawnSync("gcc", [...flags, "-o", draft, source, "-ldl"])
  assert(status === 0, `gcc: ${String(stderr)}`)
  renameSync(draft, built)
  return built
}
