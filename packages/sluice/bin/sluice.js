#!/usr/bin/env node
/**
 * What `npx sluice` runs: looks at the version of Node before anything is loaded that an older one cannot read.
 * Plain JavaScript for that reason, in syntax that Node 12 reads.
 *
 * It also has Node keep what it compiles, here and in the threads: the next start takes half of the time. That is kept
 * within this package, so only who may write the program may write it; where it cannot be written, nothing is kept. For
 * another place there is NODE_COMPILE_CACHE, for none NODE_DISABLE_COMPILE_CACHE=1, as for every program on Node.
 */
const neededMajor = 24
const { node } = process.versions

if (Number(node.split(".")[0]) < neededMajor) {
  process.stderr.write(
    `error: Sluice needs Node ${neededMajor} or newer, and this is ${node}. ` +
      `Install Node ${neededMajor} or newer, from https://nodejs.org or with your version manager.\n`,
  )
  process.exitCode = 1
} else {
  const { constants, enableCompileCache } = process.getBuiltinModule("node:module")
  const { fileURLToPath } = process.getBuiltinModule("node:url")
  const directory = fileURLToPath(new URL("../node_modules/.cache/compiled", import.meta.url))
  const { status } = enableCompileCache(directory)
  // Threads read it from the environment.
  if (status === constants.compileCacheStatus.ENABLED) process.env.NODE_COMPILE_CACHE = directory
  void import("../src/sluice.ts")
}
