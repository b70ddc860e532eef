/** A PostgreSQL server of its own, which takes connections with TLS only. */
import { chown, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { owner, postgresMissing, PrivatePostgres } from "../../../../../../test/faults/private-postgres.ts"
import { systemClock } from "../../../runtime/clock.ts"
import { testCertificates } from "../../../runtime/outbound/certificates.testing.ts"
import { SettingsReader } from "../../settings.ts"
import { driven, type DrivenReader } from "../reading.testing.ts"
import { readOutboxSettings } from "./outbox-settings.ts"
import { createOutboxReader } from "./outbox-source.ts"

/** Has the server show the certificate for localhost, and take nothing without TLS. Returns the certificate's file. */
async function secure(postgres: PrivatePostgres): Promise<string> {
  const { uid, gid } = owner()
  const write = async (name: string, content: string): Promise<string> => {
    const path = join(postgres.directory, name)
    await writeFile(path, content, { mode: 0o600 })
    if (uid !== undefined && gid !== undefined) await chown(path, uid, gid)
    return path
  }
  const { cert, key } = testCertificates.localhost
  const certFile = await write("server.pem", cert)
  await postgres.set("ssl_cert_file", certFile)
  await postgres.set("ssl_key_file", await write("server.key", key))
  await postgres.set("ssl", "on")
  // psql prefers TLS, and so still gets in.
  await write("pg_hba.conf", "hostssl all all 127.0.0.1/32 trust\n")
  await postgres.query("SELECT pg_reload_conf()")
  return certFile
}

function reading(url: string): DrivenReader {
  const members = { name: "own", type: "outbox", url, username: "postgres", pollSeconds: 1 }
  const settings = readOutboxSettings(new SettingsReader(members, {}))
  return driven(createOutboxReader(settings, { clock: systemClock, postBytesMax: 10_000 }))
}

describe.skipIf(postgresMissing !== undefined)("a database that requires TLS", () => {
  test("gives its rows over a connection whose certificate is known and names it, and over no other", async () => {
    await using postgres = await PrivatePostgres.start()
    await postgres.query("CREATE TABLE outbox (id bigserial PRIMARY KEY, envelope jsonb)")
    await postgres.query("INSERT INTO outbox (envelope) VALUES ('{}'), ('{}')")
    const certFile = await secure(postgres)
    const at = (host: string, parameters: string): string =>
      `postgres://${host}:${postgres.port}/postgres?application_name=outbox${parameters}`
    const trusted = `&sslrootcert=${encodeURIComponent(certFile)}`

    const refused: readonly (readonly [url: string, reason: RegExp])[] = [
      [at("localhost", ""), /no encryption/],
      [at("localhost", "&sslmode=verify-full"), /certificate/],
      [at("127.0.0.1", `&sslmode=verify-full${trusted}`), /127\.0\.0\.1/],
    ]
    for (const [url, reason] of refused) {
      await using run = reading(url)
      await expect.poll(() => run.failures[0]).toMatch(reason)
      expect(run.lines).toEqual([])
    }

    await using run = reading(at("localhost", `&sslmode=verify-full${trusted}`))
    await expect.poll(() => run.lines.map(({ cursor }) => cursor)).toEqual(["1", "2"])
    expect(run.failures).toEqual([])
    const secured =
      "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'outbox'"
    expect(await postgres.query(secured)).toEqual(["t"])
  })
})
