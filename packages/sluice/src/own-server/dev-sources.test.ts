import { expect, test } from "vitest"
import { devSources, sourceLines } from "./dev-sources.ts"

test("an option adds a source, whose place is the option", () => {
  expect(devSources({})).toEqual([])
  expect(devSources({ bluesky: true, mastodon: "example.social", mastodonTokenFile: "token" })).toEqual([
    {
      name: "bluesky",
      type: "bluesky",
      members: { name: "bluesky", type: "bluesky", profiles: "https://public.api.bsky.app" },
      place: "--bluesky",
    },
    {
      name: "mastodon",
      type: "mastodon",
      members: { name: "mastodon", type: "mastodon", host: "example.social", tokenFile: "token" },
      place: "--mastodon",
    },
  ])
  expect(devSources({ mastodon: "example.social" })[0]?.members).not.toHaveProperty("tokenFile")
  expect(() => devSources({ mastodonTokenFile: "token" })).toThrow("--mastodon-token-file is for --mastodon.")
})

test("a line says where posts come from, and how to add a rule", () => {
  expect(sourceLines({})).toEqual([])
  expect(sourceLines({ bluesky: true, mastodon: "example.social" })).toEqual([
    expect.stringMatching(/^Posts come from Bluesky and example\.social\. Add a rule for them: npx sluice rules add '/),
  ])
})
