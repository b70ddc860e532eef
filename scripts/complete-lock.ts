/**
 * `npm run lock`: adds the entries to package-lock.json that `npm install` leaves out.
 *
 * npm leaves optional packages for other platforms out of the lock file when it cannot look them up (npm/cli#4828), and
 * `npm ci` then refuses the file on every platform. The script can still derive each entry: the package that requires
 * it states its version, and its name states its platform. Run the script after adding or raising a dependency.
 *
 * Their integrity comes from the registry. Some registries do not have the packages of other platforms: the script
 * names the entries without integrity, and another run against a registry that has them completes the file.
 */
import { execFile } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { promisify } from "node:util"

interface LockedPackage {
  version?: string
  integrity?: string
  link?: boolean
  dev?: boolean
  optional?: boolean
  os?: readonly string[]
  cpu?: readonly string[]
  libc?: readonly string[]
  optionalDependencies?: Readonly<Record<string, string>>
}

const systems = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"]
const processors = ["arm64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"]

const file = "package-lock.json"
const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, LockedPackage> }
for (const asking of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(asking.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`
    const locked = lock.packages[key]
    if ((locked !== undefined && locked.version !== undefined) || !/^\d/.test(version)) continue
    lock.packages[key] = {
      version,
      ...(asking.dev === true && { dev: true }),
      optional: true,
      ...platformOf(name),
    }
  }
}
await addIntegrity(lock.packages)
lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)

/** Adds the missing integrity of packages, as far as the registry knows it. */
async function addIntegrity(packages: Readonly<Record<string, LockedPackage>>): Promise<void> {
  const unknown: string[] = []
  for (const [key, locked] of Object.entries(packages)) {
    const [, name] = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(key) ?? []
    if (name === undefined || locked.link === true || locked.integrity !== undefined) continue
    const wanted = `${name}@${locked.version ?? ""}`
    const integrity = await integrityOf(wanted)
    if (integrity === undefined) unknown.push(wanted)
    else locked.integrity = integrity
  }
  if (unknown.length > 0)
    process.stderr.write(`Without integrity, because the registry does not have them:\n${unknown.join("\n")}\n`)
}

/** The SHA-512 of a package's archive, in the form of Subresource Integrity; undefined if the registry lacks the package. */
async function integrityOf(wanted: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)("npm", ["view", wanted, "dist.integrity"])
    return stdout.trim() || undefined
  } catch (error) {
    if (String((error as { stderr?: unknown }).stderr).includes("E404")) return undefined
    throw error
  }
}

/** `@x/binding-linux-arm64-musl` is for Linux with musl on arm64. */
function platformOf(name: string): Pick<LockedPackage, "os" | "cpu" | "libc"> {
  const os = systems.find((system) => new RegExp(`[-/]${system}\\b`).test(name))
  const cpu = processors.find((processor) => new RegExp(`-${processor}\\b`).test(name))
  const libc = name.endsWith("-musl") ? "musl" : name.endsWith("-gnu") ? "glibc" : undefined
  return {
    ...(cpu !== undefined && { cpu: [cpu] }),
    ...(libc !== undefined && os === "linux" && { libc: [libc] }),
    ...(os !== undefined && { os: [os] }),
  }
}
