/** The browser of the tests: Debian's Chromium, or the one that `CHROMIUM` names. */
import { existsSync } from "node:fs"
import { chromium, type Browser } from "playwright-core"

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium"

/**
 * Starts it, with further switches of Chromium. Throws when it is not installed. The caller closes it, or disposes of
 * it.
 */
export async function launchChromium(...switches: readonly string[]): Promise<Browser> {
  if (!existsSync(executablePath)) throw new Error(`There is no ${executablePath}: apt-get install chromium`)
  return chromium.launch({ executablePath, args: ["--no-sandbox", ...switches] })
}
