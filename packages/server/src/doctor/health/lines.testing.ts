import type { Finding } from "../finding.ts"

/** Findings as one line each. */
export function lines(findings: readonly Finding[]): readonly string[] {
  return findings.map(({ level, text }) => `${level}: ${text}`)
}
