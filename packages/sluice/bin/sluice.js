#!/usr/bin/env node
/**
 * What `npx sluice` runs: looks at the version of Node before anything is loaded that an older one cannot read.
 * Plain JavaScript for that reason, in syntax that Node 12 reads.
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
  void import("../src/sluice.ts")
}
