import { Failure } from "../failure.ts"
import type { Terminal } from "../terminal.ts"
import { messageText } from "../terminal.ts"

/** How the demo speaks: steps, what is seen, and checks that must hold. */
export interface Telling {
  step(title: string): Promise<void>
  /** A line of what is seen, safe to print. */
  show(line: string): Promise<void>
  /** A fact that must hold: told either way, and remembered when it does not. */
  check(holds: boolean, fact: string, found?: string): Promise<void>
  /** Throws when a fact did not hold. */
  conclude(): void
}

/** Tells on a terminal. */
export function createTelling({ print, style }: Pick<Terminal, "print" | "style">): Telling {
  const broken: string[] = []
  let steps = 0
  return {
    async step(title) {
      steps += 1
      await print("")
      await print(style.strong(`${String(steps)}  ${title}`))
    },
    show: (line) => print(`   ${line}`),
    async check(holds, fact, found) {
      if (holds) return print(`   ${style.good("✓")} ${messageText(fact)}`)
      const text = found === undefined ? fact : `${fact} — found: ${found}`
      broken.push(text)
      await print(`   ${style.bad("✗")} ${messageText(text)}`)
    },
    conclude() {
      if (broken.length > 0) throw new Failure("The demo is not as it must be:", broken)
    },
  }
}
