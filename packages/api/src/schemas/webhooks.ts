/** Webhooks, their signing keys, their links to the stream, and the state of the links' deliveries. */
import { Type, type Static } from "typebox"
import { webhookConfigFields } from "../fields.ts"
import { ownPageSizes, pageSizes } from "../limits.ts"
import {
  exactly,
  Id,
  Instant,
  listOf,
  optionalInstant,
  PageMeta,
  pageSize,
  PaginationToken,
  queryOf,
  selection,
} from "./common.ts"

/** A webhook of an app. */
export const Webhook = Type.Object({
  created_at: Instant,
  id: Id,
  url: Type.String(),
  valid: Type.Boolean(),
})
export type Webhook = Static<typeof Webhook>

/** Body of `POST /2/webhooks`. */
export const CreateWebhookBody = exactly({ url: Type.String() })
export type CreateWebhookBody = Static<typeof CreateWebhookBody>

/** One webhook. */
export const WebhookBody = Type.Object({ data: Webhook })
export type WebhookBody = Static<typeof WebhookBody>

/** The key under which a webhook's Standard Webhooks signature is made, as that standard writes it. */
export const SigningKeyBody = Type.Object({
  data: Type.Object({
    signing_key: Type.String({ pattern: "^whsec_" }),
    previous_valid_until: optionalInstant("Until then deliveries are signed under the key before as well."),
  }),
})
export type SigningKeyBody = Static<typeof SigningKeyBody>

/** Result of a challenge. */
export const WebhookValidBody = Type.Object({ data: Type.Object({ valid: Type.Boolean() }) })
export type WebhookValidBody = Static<typeof WebhookValidBody>

/** The webhooks of an app, newest first. */
export const WebhooksBody = Type.Object({
  data: Type.Array(Webhook),
  meta: Type.Object({ result_count: Type.Integer() }),
})
export type WebhooksBody = Static<typeof WebhooksBody>

/** The members to show of a webhook. They are few, and always all there. */
export const WebhooksQuery = queryOf({ "webhook_config.fields": listOf(webhookConfigFields) })

/** A webhook link of an app's filtered stream. */
export const Link = Type.Object({
  application_id: Id,
  business_user_id: Id,
  created_at: Instant,
  fields: Type.Array(Type.String()),
  instance_id: Id,
  webhook_id: Id,
})
export type Link = Static<typeof Link>

/** Webhook links, newest first; with a page's meta where one was asked for. */
export const LinksBody = Type.Object({
  data: Type.Object({ links: Type.Array(Link) }),
  meta: Type.Optional(PageMeta),
})
export type LinksBody = Static<typeof LinksBody>

/** The response to a new link. */
export const ProvisionedBody = Type.Object({ data: Type.Object({ provisioned: Type.Boolean() }) })
export type ProvisionedBody = Static<typeof ProvisionedBody>

/** A stretch of the log that retention took away before a link had read it; both ends belong to it. */
const GapMarker = Type.Object({ from: Type.Integer(), to: Type.Integer(), at: Instant })

/** State of a link's delivery, for its owner to watch. Positions count matches of the app from 1. */
export const LinkDetail = Type.Object({
  webhook_id: Id,
  application_id: Id,
  valid: Type.Boolean(),
  invalid_reason: Type.Optional(Type.String({ description: "Why the webhook is not valid." })),
  ordered: Type.Boolean({ description: "Strictly one after the other, in the order of the log." }),
  down: Type.Boolean({ description: "The endpoint is down, as far as deliveries tell; it is probed." }),
  position: Type.Integer({ description: "Everything up to here is delivered, or accounted for." }),
  head: Type.Integer({ description: "Position of the newest match." }),
  lag: Type.Integer({ description: "head - position" }),
  undelivered: Type.Integer({
    description:
      "Matches up to `head` that are neither delivered nor dead letters. Less than `lag` when some are retried.",
  }),
  in_flight: Type.Integer(),
  oldest_undelivered_at: Type.Optional(Instant),
  failing_since: Type.Optional(Instant),
  next_attempt_at: Type.Optional(Instant),
  delivered: Type.Integer({
    description: "Deliveries since the process that drives the link started, or took it over.",
  }),
  failed: Type.Integer({ description: "Failed attempts since then." }),
  total: Type.Object(
    {
      delivered: Type.Integer(),
      retrying: Type.Integer(),
      dead_letters: Type.Integer(),
      expired: Type.Integer({ description: "Dead letters that were kept for their time and are gone." }),
      missed: Type.Integer({ description: "Matches within gaps." }),
    },
    { description: "Where the link's matches went, since it was made." },
  ),
  gaps: Type.Array(GapMarker, {
    description:
      "What retention took away before it was read, oldest first: the newest 100. `total.missed` counts all.",
  }),
})
export type LinkDetail = Static<typeof LinkDetail>

/** The states of links, newest first; with a page's meta where one was asked for. */
export const LinkDetailsBody = Type.Object({ data: Type.Array(LinkDetail), meta: Type.Optional(PageMeta) })
export type LinkDetailsBody = Static<typeof LinkDetailsBody>

/** Without parameters the response holds every link; with any, a page. */
export const LinkDetailsQuery = queryOf({
  max_results: Type.Optional(
    Type.Integer({ minimum: ownPageSizes.linkDetails.min, maximum: ownPageSizes.linkDetails.max }),
  ),
  pagination_token: PaginationToken,
})

/** A webhook, and the state of its link if it has one. */
export const WebhookDetail = Type.Object({
  id: Id,
  application_id: Id,
  url: Type.String(),
  created_at: Instant,
  valid: Type.Boolean(),
  invalid_reason: Type.Optional(Type.String({ description: "Why it is not valid." })),
  checked_at: Type.String({ format: "date-time", description: "When a challenge last succeeded." }),
  link: Type.Optional(
    Type.Object({
      ...LinkDetail.properties,
      fields: Type.Array(Type.String(), { description: "What deliveries show, as a list of links has it." }),
    }),
  ),
})
export type WebhookDetail = Static<typeof WebhookDetail>

/** A page of webhooks, newest first. */
export const WebhookDetailsBody = Type.Object({ data: Type.Array(WebhookDetail), meta: PageMeta })
export type WebhookDetailsBody = Static<typeof WebhookDetailsBody>

/** One webhook. */
export const WebhookDetailBody = Type.Object({ data: WebhookDetail })
export type WebhookDetailBody = Static<typeof WebhookDetailBody>

/** Which webhooks to return. */
export const WebhookDetailsQuery = queryOf({
  url: Type.Optional(Type.String({ description: "Only those whose URL has this text, in any case." })),
  max_results: pageSize(ownPageSizes.webhookDetails),
  pagination_token: PaginationToken,
})

/** The state of one link. */
export const LinkDetailBody = Type.Object({ data: LinkDetail })
export type LinkDetailBody = Static<typeof LinkDetailBody>

/** Body of `PATCH /sluice/v1/links/:webhook_id`. */
export const ChangeLinkBody = exactly({ ordered: Type.Boolean() })
export type ChangeLinkBody = Static<typeof ChangeLinkBody>

/** Without parameters the response holds every link; with any, a page. */
export const LinksQuery = queryOf({
  max_results: Type.Optional(Type.Integer({ minimum: pageSizes.links.min, maximum: pageSizes.links.max })),
  pagination_token: PaginationToken,
})

/** What the deliveries of a link show. */
export const CreateLinkQuery = queryOf(selection)
