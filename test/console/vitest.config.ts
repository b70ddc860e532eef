/** Tests of the console in a browser, by `npm run test:console`: apart from `npm test`, because they need Chromium. */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/console/**/*.test.ts"],
    maxWorkers: 2,
    // Sources run as they do in the program: by Node itself.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 50 } },
  },
})
