/**
 * Tests in a browser: of the console by `npm run test:console`, of the site by `npm run test:site`. They run apart from
 * `npm test`, because they need Chromium.
 */
import { defineConfig } from "vitest/config"
import { compileCache } from "../support/compile-cache.ts"
import { repeating } from "../support/repeated-tests.ts"

export default defineConfig({
  test: {
    ...repeating,
    include: ["test/{console,site}/**/*.test.ts"],
    maxWorkers: 2,
    // Servers load one bundle.
    globalSetup: "test/support/bundle.ts",
    env: compileCache,
    // Sources run as they do in the program: by Node itself.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 50 } },
  },
})
