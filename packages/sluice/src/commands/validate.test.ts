import { expect, test } from "vitest"
import { startSluice } from "../testing/index.ts"
import { run } from "../command.testing.ts"

test("webhooks validate says why the challenge failed", async () => {
  await using sluice = await startSluice()
  const receiver = await sluice.receive()
  const validate = () => run(["webhooks", "validate", receiver.webhookId], { env: sluice.env })
  expect(await validate()).toMatchObject({
    status: 0,
    stdout: `Webhook ${receiver.webhookId} answered the challenge.\n`,
  })
  await sluice.trouble({ kind: "challenges" })
  const outcome = await validate()
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toMatch(
    /^error: Webhook \d+ did not answer the challenge\.\n {2}The endpoint responded with status 200 and a response_token .*\.\n$/,
  )
})
