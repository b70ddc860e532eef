/**
 * The mistakes that users make most, and what they read: what was wrong, where it was read from, and the next step. Each
 * runs as a user would type it, against a production server on an empty machine.
 */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../test/support/test-server.testing.ts"
import { temporaryDirectory } from "../../../test/support/temporary-directory.testing.ts"
import { run, type Run } from "./command.testing.ts"

let server: TestServer
let cwd: string
const resources = new AsyncDisposableStack()

const files = {
  "unknown.yaml": "prot: 1\n",
  "broken.yaml": "port: [1\n",
  "blusky.yaml": "sources:\n  - name: sky\n    type: blusky\n",
  "nats.yaml": "sources:\n  - name: n\n    type: nats\n",
  "numbers.yaml": "rules: 5\n",
  "no-post.ndjson": '{"id":1,"txt":"x"}\n',
  "post.ndjson": '{"data":{"id":"1","text":"x"}}\n',
}

beforeAll(async () => {
  cwd = resources.use(await temporaryDirectory()).path
  server = resources.use(await startTestServer({ search: "on" }, "serve"))
  for (const [name, text] of Object.entries(files)) await writeFile(join(cwd, name), text)
  await mkdir(join(cwd, "taken"))
})

afterAll(() => resources.disposeAsync())

type Variables = Readonly<Record<string, string>>

function type(words: readonly string[], env: Variables): Promise<Run> {
  const known = { SLUICE_URL: server.url, SLUICE_TOKEN: server.app.bearer_token }
  const given = { ...known, ...env }
  return run(words, { cwd, env: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "")) })
}

const noToken = { SLUICE_URL: "", SLUICE_TOKEN: "" }
const key = { SLUICE_MASTER_KEY: "0".repeat(64) }

// Command; what its error says; variables in place of those that name the server and the token.
const mistakes: readonly (readonly [command: string, says: readonly string[], env?: Variables])[] = [
  // No server, or not this one.
  ["rules list", ["No token found.", "SLUICE_TOKEN or use --token-file", "start `sluice dev`"], noToken],
  [
    "rules list",
    ["No response from http://127.0.0.1:2: connection refused.", "sluice dev"],
    { SLUICE_URL: "http://127.0.0.1:2" },
  ],
  ["rules list", ["there is no host of that name."], { SLUICE_URL: "http://nowhere.invalid:8080" }],
  [
    "rules list",
    ['"127.0.0.1:8080" is not the URL of a server.', "such as http://127.0.0.1:8080."],
    { SLUICE_URL: "127.0.0.1:8080" },
  ],
  ["rules list --url ftp://x", ['"ftp://x" is not the URL of a server.', "such as http"]],
  // A wrong token.
  [
    "rules list",
    ["does not know the token of SLUICE_TOKEN.", "not copied whole", "sluice token list"],
    { SLUICE_TOKEN: "sluice_app_x" },
  ],
  ["rules list", ["The token contains invalid characters.", "copied completely"], { SLUICE_TOKEN: "a token" }],
  ["rules list --token-file missing", ["The token file cannot be read", "missing"]],
  ["rules list --token x --token-file y", ["Use either --token or --token-file, not both."]],
  [
    "import post.ndjson",
    ["The token of SLUICE_TOKEN may not do this", "kind ingest", "sluice token create --kind ingest"],
  ],
  // Words that are not there.
  ["webhook list", ["unknown command 'webhook'", "Did you mean webhooks?", "--help"]],
  ["rules ad cat", ["unknown command 'ad'", "Did you mean add?"]],
  ["rules add cat --tagg x", ["unknown option '--tagg'", "Did you mean --tag?"]],
  ["rules add -cat", ["unknown option '-cat'", "A value that begins with - stands behind --, as in: -- '-cat'"]],
  ["exec", ["missing required argument 'command'"]],
  ["token create --kind admin", ["argument 'admin' is invalid", "Allowed choices are operator, ingest, user."]],
  ["counts cat --granularity week", ["argument 'week' is invalid", "minute, hour, day"]],
  ["posts abc", ["'abc' is invalid", "Expected the id of a user, 1 to 19 digits"]],
  ["rules delete cat", ["'cat' is invalid", "Expected the id of a rule, 1 to 19 digits"]],
  ["listen --forward-to localhost:3000", ["'localhost:3000' is invalid", "such as http://127.0.0.1:3000/hook"]],
  // Rules.
  ["rules add cat|has:image", ["has:image", "Did you mean 'has:images'?", "Try: cat has:images"]],
  ["rules add cat|(dog", ["expecting ')'", "The parenthesis at position 5 is never closed"]],
  ["rules add cat|AND|dog", ["cat AND dog", "Use a space"]],
  ["rules add from:", ["from:", "A value follows the colon, without a space"]],
  ["search cat|OR", ["at position 5", "OR stands between two clauses."]],
  ["rules test cat --file missing.ndjson", ["There is no file missing.ndjson."]],
  ["rules sync missing.yaml", ["There is no file missing.yaml."]],
  [
    "rules sync numbers.yaml",
    ["numbers.yaml is not a list of rules.", "line 1: The file must hold a list of rules", "- value: "],
  ],
  // Posts.
  ["import missing.ndjson", ["There is no file missing.ndjson."]],
  ["import no-post.ndjson", ["line 1: Unknown Format: Expected an envelope", "with the members id, txt"]],
  ["import taken", ["taken is a directory, not a file of posts."]],
  // Webhooks and deliveries.
  ["webhooks add hook.example.com/x", ["is not an absolute URL such as https://example.com/webhook"]],
  ["webhooks add https://10.0.0.1/hook", ["the host 10.0.0.1, which is a private address", "SLUICE_WEBHOOK_ALLOW"]],
  ["webhooks add http://example.com/hook", ["only https is accepted", "SLUICE_WEBHOOK_ALLOW"]],
  ["links add 999", ["Could not find webhook with webhook_id: [999]."]],
  ["trouble responses --response 503", ["Trouble on demand is only for `sluice dev`."]],
  ["trigger", ["The app has no rules.", "Add one: sluice rules add", "--text"]],
  // Settings of a server.
  ["serve --port 99999", ['port "99999" (from --port) must be a whole number from 0 to 65535.']],
  ["serve", ["unknown setting SLUICE_PROT. Did you mean SLUICE_PORT?"], { SLUICE_PROT: "1" }],
  ["serve --config missing.yaml", ["There is no config file missing.yaml."]],
  ["serve --config unknown.yaml", ['The config file unknown.yaml has an unknown setting "prot". Did you mean port?']],
  ["serve --config broken.yaml", ["broken.yaml cannot be read: it is not YAML or JSON at line 2, column 1"]],
  [
    "serve --config blusky.yaml",
    ["The source sky (blusky.yaml, line 2) has the unknown type blusky: did you mean bluesky?"],
  ],
  ["serve --config nats.yaml", ["The source n (nats.yaml, line 2) has the unknown type nats", "natsUrl"]],
  [
    "serve --database postgres://u:pass@127.0.0.1:1/x",
    ["database is set (from --database) without masterKey", "openssl rand -hex 32"],
  ],
  ["serve --database postgres://u:pass@127.0.0.1:1/x", ["127.0.0.1:1"], key],
  // Data.
  ["app list --data missing", ["There is no data directory missing.", "--data or SLUICE_DATA"]],
  ["restore taken --data d3", ["There is no backup in taken."]],
  [
    "backup out --data missing",
    ["The data directory missing holds no store.", "Name the one that the server uses with --data."],
  ],
  [
    "doctor --data missing",
    ["There is no data directory missing.", "Name the one that the server uses with --data or SLUICE_DATA."],
  ],
]

const rows = mistakes.map(([command, says, env = {}]) => ({ command, says, env }))

test.each(rows)("sluice $command", async ({ command, says, env }) => {
  const words = command.split(" ").map((word) => word.replaceAll("|", " "))
  const outcome = await type(words, env)
  expect(outcome.status).toBeGreaterThan(0)
  const said = outcome.stdout + outcome.stderr
  for (const part of says) expect(said).toContain(part)
  // A password of an address is shown nowhere, and nothing is the stack of a bug.
  expect(said).not.toContain("pass@")
  expect(said).not.toMatch(/^ +at .+:\d+:\d+\)?$/m)
})
