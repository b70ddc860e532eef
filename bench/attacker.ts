/**
 * `attacker.ts NAME URL TOKEN`: an attack in a separate process, so that its work delays no other part of the bench.
 */
import { attacks } from "./attacks/attacks.ts"
import { replyToEach } from "./child.ts"

/** A command to an attacker; it replies when it is done. */
export type AttackerMessage = { readonly kind: "prepare" | "start" | "stop" }

const [name = "", url = "", token = ""] = process.argv.slice(2)
const attack = attacks[name]
if (attack === undefined) throw new Error(`no attack is called ${name}`)
const app = { url, token }
const stopping = new AbortController()
let running: Promise<void> | undefined

replyToEach<AttackerMessage>(async ({ kind }) => {
  switch (kind) {
    case "prepare":
      await attack.prepare?.(app)
      return {}
    case "start":
      running = attack.run(app, stopping.signal)
      return {}
    case "stop":
      stopping.abort()
      await running
      return {}
  }
})
