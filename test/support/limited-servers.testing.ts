/** Servers whose time a test moves on, and limits of their apps. */
import type { OwnLimits } from "@sluice/api"
import { afterEach } from "vitest"
import { asId } from "../../packages/server/src/model/ids.ts"
import { MovedClock } from "./moved-clock.testing.ts"
import { startTestServer, type TestApp, type TestServer } from "./test-server.testing.ts"

/** Servers for the tests of a file, each with a clock of its own, which end with the test. */
export function limitedServers() {
  let resources = new AsyncDisposableStack()
  let clock = new MovedClock()
  afterEach(async () => {
    await resources.disposeAsync()
    resources = new AsyncDisposableStack()
  })
  return {
    /** The clock of the server that was started last. */
    get clock(): MovedClock {
      return clock
    },
    start: async (flags: Readonly<Record<string, string>> = {}): Promise<TestServer> => {
      clock = new MovedClock()
      return resources.use(await startTestServer(flags, "dev", clock))
    },
    /** Disposes of it when the test has ended. */
    use: <Resource extends AsyncDisposable>(resource: Resource): Resource => resources.use(resource),
  }
}

/** Sets the limits of an app. */
export function setLimits(server: TestServer, limits: OwnLimits, { app }: TestApp = server): Promise<boolean> {
  return server.running.apps.setLimits(asId(app.application_id), limits)
}
