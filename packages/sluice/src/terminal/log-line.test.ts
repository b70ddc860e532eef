import { expect, test } from "vitest"
import { logLine } from "./log-line.ts"

const plain = (text: string): string => text
const style = { strong: plain, faint: plain, good: plain, bad: plain, mark: plain }
const time = new Date(2026, 2, 14, 9, 26, 53).getTime()
const shown = (record: object): string =>
  logLine(`${JSON.stringify({ time, pid: 1, hostname: "h", ...record })}\n`, style)

test("a line has the time, the level, the message and the fields", () => {
  const record = { level: 40, msg: "endpoint is down", webhookId: "7", attempts: 3, none: null, empty: "" }
  expect(shown(record)).toBe("09:26:53  warn   endpoint is down  webhookId=7 attempts=3\n")
})

test("an error is its message, without its stack", () => {
  const err = { type: "Error", message: "disk is full", stack: "Error: disk is full\n    at x" }
  expect(shown({ level: 50, msg: "failed", where: "store", err })).toBe(
    "09:26:53  error  failed  where=store  disk is full\n",
  )
})

test("text from outside cannot move the cursor or begin another line", () => {
  const line = shown({ level: 30, msg: "said\u001B[2J", url: "https://a.example/\n09:26:53  error  forged\u202E" })
  for (const unsafe of ["\u001B", "\n", "\u202E"]) expect(line.trimEnd()).not.toContain(unsafe)
  expect(line).toContain("␛[2J")
})

test("what the commands say themselves is left out, and a line that is no JSON is shown as it is", () => {
  expect(shown({ level: 30, msg: "ready", url: "http://127.0.0.1:8080" })).toBe("")
  expect(logLine("not JSON\u0007\n", style)).toBe("not JSON␇\n")
})
