import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts"],
    // Most tests wait for something, and by itself vitest leaves one of two cores idle.
    maxWorkers: 2,
    // Hundreds of commands and servers are started, and each would compile the same sources.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/sluice-tests", import.meta.url)) },
    // Many times what they take: on a machine that is shared a test may well take four times as long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
  },
})
