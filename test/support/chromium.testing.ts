/**
 * The browser of the tests: the one that `CHROMIUM` names, else Debian's Chromium. Its headless shell comes first: the tests
 * take three fifths of the processor time with it.
 */
import { existsSync } from "node:fs"
import { chromium, type Browser } from "playwright-core"

const installed = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"]

const executablePath = process.env["CHROMIUM"] ?? installed.find((path) => existsSync(path)) ?? "/usr/bin/chromium"

/**
 * Starts it, with further switches of Chromium. Throws when it is not installed. The caller closes it, or disposes of
 * it.
 */
export async function launchChromium(...switches: readonly string[]): Promise<Browser> {
  if (!existsSync(executablePath)) throw new Error(`There is no ${executablePath}: apt-get install chromium`)
  return chromium.launch({ executablePath, args: ["--no-sandbox", ...switches] })
}
