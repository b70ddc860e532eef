/** The converters of sources, by settings that are plain data: they are posted to the intake thread. */
import type { BlueskySettings } from "./bluesky/bluesky-converter.ts"
import type { Converter } from "./converter.ts"
import type { MastodonSettings } from "./mastodon/mastodon-converter.ts"

/** Settings of a converter. */
export type ConverterSettings =
  | { readonly type: "bluesky"; readonly settings: BlueskySettings }
  | { readonly type: "mastodon"; readonly settings: MastodonSettings }
  /** Items of a mapping, and items that are envelopes. */
  | { readonly type: "mapped" | "envelopes" }

/** Loads the converter of a source. A converter that no source has is never loaded. */
export async function loadConverter(of: ConverterSettings): Promise<Converter> {
  if (of.type === "bluesky") return (await import("./bluesky/bluesky-converter.ts")).blueskyConverter(of.settings)
  if (of.type === "mastodon") return (await import("./mastodon/mastodon-converter.ts")).mastodonConverter(of.settings)
  const { withFailedItems } = await import("./failed-item.ts")
  if (of.type === "mapped") return withFailedItems((await import("./mapped-item.ts")).mappedItemConverter())
  return withFailedItems((await import("./envelope-item.ts")).envelopeItemConverter())
}
