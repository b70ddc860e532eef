/** `npm run test:install`: the packages as they are published, away from the checkout. */
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { repeating } from "../support/repeated-tests.ts"

export default defineConfig({
  test: {
    ...repeating,
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["test/install/*.test.ts"],
    globalSetup: "test/install/pack-all.ts",
    // They wait for other processes most of the time.
    maxWorkers: 2,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    testTimeout: 120_000,
    hookTimeout: 480_000,
    expect: { poll: { timeout: 30_000, interval: 20 } },
  },
})
