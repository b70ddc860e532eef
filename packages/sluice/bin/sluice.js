#!/usr/bin/env node
/**
 * What `npx sluice` runs: looks at the version of Node before anything is loaded that an older one cannot read.
 * Plain JavaScript for that reason.
 */
const neededMajor = 24
const [major] = process.versions.node.split(".")

if (Number(major) < neededMajor) {
  process.stderr.write(
    `error: Sluice needs Node ${neededMajor} or newer, and this is ${process.versions.node}. ` +
      "`npx sluice` and `npm start` use the Node that `npm ci` installed.\n",
  )
  process.exitCode = 1
} else {
  await import("../src/sluice.ts")
}
