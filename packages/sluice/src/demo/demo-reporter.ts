import { Failure } from "../process/failure.ts"
import { messageText, type Terminal } from "../terminal/terminal.ts"

/** The output of the demo: steps, lines, and checks. */
export interface DemoReporter {
  step(title: string): Promise<void>
  /** Prints a line, which must be safe to print. */
  show(line: string): Promise<void>
  /** Prints the result of a check, and records a failure. */
  check(holds: boolean, fact: string, found?: string): Promise<void>
  /** Throws when a check failed. */
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
      if (broken.length > 0) throw new Failure("The demo failed these checks:", broken)
    },
  }
}
