/** The sources of posts that options of `sluice dev` add. The kinds of sources check their members. */
import type { ListedSource } from "@sluice/server/config"
import { Failure } from "../process/failure.ts"

/** The options. */
export interface DevSourceOptions {
  readonly bluesky?: true
  /** The host of an instance. */
  readonly mastodon?: string
  readonly mastodonTokenFile?: string
}

/** Names the authors of posts. Source: Bluesky's documentation, "API hosts and auth". */
const publicAppView = "https://public.api.bsky.app"

/** The sources of the options, as a configuration file would list them. Throws `Failure` for a token without an instance. */
export function devSources({ bluesky, mastodon, mastodonTokenFile }: DevSourceOptions): readonly ListedSource[] {
  if (mastodon === undefined && mastodonTokenFile !== undefined) {
    throw new Failure("--mastodon-token-file is for --mastodon.")
  }
  return [
    ...(bluesky === true ? [listed("bluesky", { profiles: publicAppView }, "--bluesky")] : []),
    ...(mastodon === undefined
      ? []
      : [
          listed(
            "mastodon",
            { host: mastodon, ...(mastodonTokenFile !== undefined && { tokenFile: mastodonTokenFile }) },
            "--mastodon",
          ),
        ]),
  ]
}

function listed(type: string, members: Readonly<Record<string, unknown>>, place: string): ListedSource {
  return { name: type, type, members: { name: type, type, ...members }, place }
}

/** A line that says where posts come from and how to match them; none without such sources. */
export function sourceLines({ bluesky, mastodon }: DevSourceOptions): readonly string[] {
  const places = [...(bluesky === true ? ["Bluesky"] : []), ...(mastodon === undefined ? [] : [mastodon])]
  if (places.length === 0) return []
  const state = "`npx sluice sources list` shows how many."
  return [
    `Posts come from ${places.join(" and ")}. Add a rule for them: npx sluice rules add 'cat has:images' --tag cats. ${state}`,
  ]
}
