import { PassThrough } from "node:stream"
import { expect, test } from "vitest"
import { readSecret } from "./secret-input.ts"

/** Keys typed in a terminal, and each change of its mode, true for raw. */
function typing(keys: string) {
  const modes: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => modes.push(isRaw) })
  stdin.write(keys)
  return { modes, secret: readSecret(stdin, 100, () => expect(modes).toEqual([true])) }
}

test("a secret that is typed ends at Enter, and keys may erase", async () => {
  const { modes, secret } = typing("abx\u007fc\rrest")
  expect(await secret).toBe("abc")
  expect(modes).toEqual([true, false])
})

test("Ctrl-C at the prompt ends the command, with the terminal as it was", async () => {
  const { modes, secret } = typing("ab\u0003")
  await expect(secret).rejects.toThrow("Interrupted.")
  expect(modes).toEqual([true, false])
})

test("a secret that is too long is refused", async () => {
  await expect(typing("x".repeat(101)).secret).rejects.toThrow("too long")
})
