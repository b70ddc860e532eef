import { Failure } from "../process/failure.ts"
import { messageText, type Terminal } from "../terminal/terminal.ts"

/** How the demo reports: steps, what is seen, and checks that must hold. */
export interface DemoReporter {
  step(title: string): Promise<void>
  /** A line of what is seen, safe to print. */
  show(line: string): Promise<void>
  /** Reports a fact, and remembers it when it does not hold. */
  check(holds: boolean, fact: string, found?: string): Promise<void>
  /** Throws when a fact did not hold. */
  conclude(): void
}

/** Reports on a terminal. */
export function createDemoReporter({ print, style }: Pick<Terminal, "print" | "style">): DemoReporter {
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
