/** The packages hold the right files, and their users' tools and compilers can read them. */
import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { publint } from "publint"
import { formatMessage } from "publint/utils"
import { describe, expect, inject, test } from "vitest"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { nodeOf, root, runUnder } from "./nodes.testing.ts"

const execute = promisify(execFile)

/** Runs a program to its end. Compilers and checkers report on standard output what is wrong. */
async function run(file: string, args: readonly string[], options: { readonly cwd?: string } = {}): Promise<string> {
  try {
    return (await execute(file, args, options)).stdout
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string }
    throw new Error(`${file} ${args.join(" ")}:\n${stdout}${stderr}`, { cause: error })
  }
}
const tarballs = inject("tarballs")
const tsc = join(root, "node_modules/typescript/bin/tsc")

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly engines: { readonly node: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly exports?: object
}

const manifestOf = (name: string): Manifest =>
  JSON.parse(readFileSync(join(root, "dist", name, "package.json"), "utf8")) as Manifest

const names = Object.keys(tarballs)
const versions = new Set(names.map((name) => manifestOf(name).version))

test("every package is packed, all in one version", () => {
  const built = readdirSync(join(root, "packages")).filter((name) => name !== "console" || names.includes(name))
  expect(names.toSorted()).toEqual(built.toSorted())
  expect(versions.size).toBe(1)
})

describe.each(names)("the package of %s", (name) => {
  test("holds the compiled program, its README and its licence, and neither sources nor tests", async () => {
    const stdout = await run("tar", ["tzf", tarballs[name] ?? ""])
    const files = stdout
      .trim()
      .split("\n")
      .map((file) => file.replace(/^package\//, ""))
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]))
    expect(
      files.filter((file) => /^src\/|(?<!\.d)\.tsx?$|\.(test|testing)\.|contract|memory-store/.test(file)),
    ).toEqual([])
    expect(files.filter((file) => /^dist\/.*\.(js|css|html)$/.test(file))).not.toEqual([])
  })

  test("has a manifest that names the Node it needs, and requires the other packages in its own version", () => {
    const { license, engines, version, dependencies = {} } = manifestOf(name)
    expect({ license, engines }).toEqual({
      license: "Apache-2.0",
      engines: { node: expect.stringMatching(/^>=2[04]$/) },
    })
    const own = Object.entries(dependencies).filter(([other]) => other.startsWith("@sluice/"))
    expect(own.map(([, wanted]) => wanted)).toEqual(own.map(() => version))
  })

  test("publint and arethetypeswrong find nothing", async () => {
    const pkgDir = join(root, "dist", name)
    const { messages } = await publint({ pkgDir, strict: true })
    const manifest = manifestOf(name)
    expect(messages.map((message) => formatMessage(message, manifest as never))).toEqual([])
    // Files to be served have no types.
    if (name === "console") return
    await run("npm", ["run", "package-types", tarballs[name] ?? ""], { cwd: root })
  })
})

describe("@sluice/client", () => {
  test("depends on nothing: it is installed alone, checked without skipping a declaration, and run on Node 20", async () => {
    expect(manifestOf("client").dependencies).toBe(undefined)
    await using directory = await temporaryDirectory()
    const { path } = directory
    await writeFile(join(path, "package.json"), '{"type":"module"}\n')
    await run("npm", ["install", "--offline", "--no-audit", "--no-fund", tarballs["client"] ?? ""], { cwd: path })
    expect(readdirSync(join(path, "node_modules")).filter((entry) => !entry.startsWith("."))).toEqual(["@sluice"])
    const program = `import { createClient, ApiError } from "@sluice/client"
      const client = createClient({ url: "http://127.0.0.1:1", token: "x" })
      export const typed = async (): Promise<string | undefined> =>
        (await client.request("GET", "rules")).data?.[0]?.value
      // @ts-expect-error: a rule's value is a text.
      export const wrong = async (): Promise<number | undefined> => (await client.request("GET", "rules")).data?.[0]?.value
      export const shown = async (): Promise<readonly [number | undefined, number | undefined]> => {
        const old = await client.posts.getById("1", { "tweet.fields": ["public_metrics"] })
        const renamed = await client.posts.getById("1", { expansions: ["referenced_posts"] })
        // @ts-expect-error: a name of the other vocabulary.
        console.log(old.data?.referenced_posts)
        // @ts-expect-error: there is no such field.
        await client.posts.getById("1", { "tweet.fields": ["public_metric"] })
        return [old.data?.public_metrics?.retweet_count, renamed.data?.public_metrics?.repost_count]
      }
      console.log(typeof createClient, typeof ApiError)`
    await writeFile(join(path, "program.ts"), program)
    await mkdir(join(path, "out"))
    const options = ["--strict", "--module", "nodenext", "--target", "es2024", "--lib", "es2024,dom,esnext"]
    // Its main entry is for browsers as well: nothing of Node is declared.
    const types = ["--types", ""]
    await run(process.execPath, [tsc, ...options, ...types, "--outDir", "out", "program.ts"], { cwd: path })
    expect(await runUnder(await nodeOf(20), path, "node", "out/program.js")).toEqual({
      status: 0,
      stdout: "function function\n",
      stderr: "",
    })
  })

  test("its types are those of @sluice/api", async () => {
    await using directory = await temporaryDirectory()
    const folder = "dist/client/dist/api/schemas"
    const lines = readdirSync(join(root, folder)).flatMap((file, at) => {
      const carried = readFileSync(join(root, folder, file), "utf8")
      const types = [...carried.matchAll(/^export type (\w+) =/gm)].map(([, type = ""]) => type)
      const source = join(root, "packages/api/src/schemas", file.replace(".d.ts", ".ts"))
      return [
        `import type * as a${at} from "${join(root, folder, file.replace(".d.ts", ".js"))}"`,
        `import type * as b${at} from "${source}"`,
        ...types.map((type) => `same<a${at}.${type}, b${at}.${type}>(true)`),
      ]
    })
    expect(lines.filter((line) => line.startsWith("same")).length).toBeGreaterThan(20)
    const same = `type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? (keyof A extends keyof B ? true : false) : false) : false
      declare function same<A, B>(_: Same<A, B>): void\n`
    const file = join(directory.path, "same.ts")
    await writeFile(file, same + lines.join("\n"))
    const config = {
      extends: join(root, "tsconfig.json"),
      include: [file],
      compilerOptions: { noUnusedLocals: false, typeRoots: [join(root, "node_modules/@types")] },
    }
    await writeFile(join(directory.path, "tsconfig.json"), JSON.stringify(config))
    await run(process.execPath, [tsc, "-p", directory.path])
  })
})
