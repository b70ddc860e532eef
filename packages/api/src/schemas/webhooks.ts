/** Webhooks, their signing keys, their links to the stream, and the state of the links' deliveries. */
import { Type, type Static } from "typebox"
import { webhookConfigFields } from "../fields.ts"
import { descriptionCharactersMax, nameCharactersMax, ownPageSizes, pageSizes } from "../limits.ts"
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

/** The key of a webhook's Standard Webhooks signature, in the form of that standard. */
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

/** Members of a webhook to show. Accepted, but all are always shown. */
export const WebhooksQuery = queryOf({ "webhook_config.fields": listOf(webhookConfigFields) })
export type WebhooksQuery = Static<typeof WebhooksQuery>

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

/** Webhook links, newest first; with `meta` when a page was requested. */
export const LinksBody = Type.Object({
  data: Type.Object({ links: Type.Array(Link) }),
  meta: Type.Optional(PageMeta),
})
export type LinksBody = Static<typeof LinksBody>

/** The response to a new link. */
export const ProvisionedBody = Type.Object({ data: Type.Object({ provisioned: Type.Boolean() }) })
export type ProvisionedBody = Static<typeof ProvisionedBody>

/** A range of the log that retention deleted before a link had read it; both ends included. */
const GapMarker = Type.Object({ from: Type.Integer(), to: Type.Integer(), at: Instant })

/** Delivery status of a link. Positions count the matches of the app, from 1. */
export const LinkDetail = Type.Object({
  webhook_id: Id,
  application_id: Id,
  valid: Type.Boolean(),
  invalid_reason: Type.Optional(Type.String({ description: "Why the webhook is not valid." })),
  ordered: Type.Boolean({ description: "Delivers one match at a time, in the order of the log." }),
  paused: Type.Boolean({ description: "The app has paused the link: matches wait, and its position stays." }),
  paused_since: optionalInstant("When it was paused; absent for a link that is not."),
  down: Type.Boolean({ description: "The endpoint is down, as far as deliveries show; it is being probed." }),
  position: Type.Integer({ description: "Position up to which every match is delivered or accounted for." }),
  head: Type.Integer({ description: "Position of the newest match." }),
  lag: Type.Integer({ description: "Matches beyond the position: `head` minus `position`." }),
  undelivered: Type.Integer({
    description:
      "Matches up to `head` that are neither delivered nor dead letters. Less than `lag` when some are retried.",
  }),
  in_flight: Type.Integer(),
  oldest_undelivered_at: Type.Optional(Instant),
  failing_since: Type.Optional(Instant),
  next_attempt_at: Type.Optional(Instant),
  delivered: Type.Integer({
    description: "Deliveries since the link's process started, or took the link over.",
  }),
  failed: Type.Integer({ description: "Failed attempts in the same time." }),
  total: Type.Object(
    {
      delivered: Type.Integer(),
      retrying: Type.Integer(),
      dead_letters: Type.Integer(),
      expired: Type.Integer({ description: "Dead letters whose retention time is over." }),
      missed: Type.Integer({ description: "Matches in gaps, never delivered." }),
      withdrawn: Type.Integer({ description: "Matches whose posts were deleted before they were delivered." }),
    },
    { description: "Matches in each delivery state, since the link was created." },
  ),
  gaps: Type.Array(GapMarker, {
    description:
      "Ranges of the log that retention deleted before the link read them: the newest 100, oldest first. `total.missed` counts all.",
  }),
})
export type LinkDetail = Static<typeof LinkDetail>

/** Delivery status of links, newest first; with `meta` when a page was requested. */
export const LinkDetailsBody = Type.Object({ data: Type.Array(LinkDetail), meta: Type.Optional(PageMeta) })
export type LinkDetailsBody = Static<typeof LinkDetailsBody>

/** Query of a list of links. Without parameters the response holds every link, else a page. */
export const LinkDetailsQuery = queryOf({
  max_results: Type.Optional(
    Type.Integer({ minimum: ownPageSizes.linkDetails.min, maximum: ownPageSizes.linkDetails.max }),
  ),
  pagination_token: PaginationToken,
})
export type LinkDetailsQuery = Static<typeof LinkDetailsQuery>

/** A webhook with the delivery status of its link, if it has one. */
export const WebhookDetail = Type.Object({
  id: Id,
  application_id: Id,
  url: Type.String(),
  name: Type.Optional(Type.String({ description: "The name that its app gave it." })),
  description: Type.Optional(Type.String({ description: "Its app's note about it." })),
  created_at: Instant,
  valid: Type.Boolean(),
  invalid_reason: Type.Optional(Type.String({ description: "Why it is not valid." })),
  checked_at: Type.String({ format: "date-time", description: "When a challenge last succeeded." }),
  link: Type.Optional(
    Type.Object({
      ...LinkDetail.properties,
      fields: Type.Array(Type.String(), { description: "Fields that deliveries show, as in a list of links." }),
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

/** Query of a list of webhooks. */
export const WebhookDetailsQuery = queryOf({
  url: Type.Optional(Type.String({ description: "Only webhooks whose URL contains this text, ignoring case." })),
  max_results: pageSize(ownPageSizes.webhookDetails),
  pagination_token: PaginationToken,
})
export type WebhookDetailsQuery = Static<typeof WebhookDetailsQuery>

/** Body of `PATCH /sluice/v1/webhooks/:webhook_id`: members that are absent stay as they are, empty ones are removed. */
export const ChangeWebhookBody = exactly(
  {
    name: Type.Optional(Type.String({ maxLength: nameCharactersMax })),
    description: Type.Optional(Type.String({ maxLength: descriptionCharactersMax })),
  },
  { minProperties: 1 },
)
export type ChangeWebhookBody = Static<typeof ChangeWebhookBody>

/** Delivery status of one link. */
export const LinkDetailBody = Type.Object({ data: LinkDetail })
export type LinkDetailBody = Static<typeof LinkDetailBody>

/** Body of `PATCH /sluice/v1/links/:webhook_id`: members that are absent stay as they are. */
export const ChangeLinkBody = exactly(
  { ordered: Type.Optional(Type.Boolean()), paused: Type.Optional(Type.Boolean()) },
  { minProperties: 1 },
)
export type ChangeLinkBody = Static<typeof ChangeLinkBody>

/** Query of a list of links. Without parameters the response holds every link, else a page. */
export const LinksQuery = queryOf({
  max_results: Type.Optional(Type.Integer({ minimum: pageSizes.links.min, maximum: pageSizes.links.max })),
  pagination_token: PaginationToken,
})
export type LinksQuery = Static<typeof LinksQuery>

/** Query of a new link: the fields that its deliveries show. */
export const CreateLinkQuery = queryOf(selection)
export type CreateLinkQuery = Static<typeof CreateLinkQuery>
