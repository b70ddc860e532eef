/** What receives deliveries of a webhook. */
export {
  startWebhookReceiver,
  webhookListener,
  type Delivery,
  type ReceiverOptions,
  type WebhookReceiver,
} from "./webhook-receiver.ts"
export { challengeResponse, verifyDelivery, type Verification, type WebhookSecrets } from "./webhook-signatures.ts"
