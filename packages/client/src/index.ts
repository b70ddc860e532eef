/** A client of the X API v2 and of Sluice: requests, pages, the filtered stream, and webhook deliveries. */
export { createClient, type Client, type ClientOptions } from "./client.ts"
export { ApiError, ClientError, ConnectionError, isTransient, ResponseError } from "./errors.ts"
export type { Operations, Query } from "./operations.ts"
export { problemText, type ProblemText } from "./problem-text.ts"
export { reconnectDelayMs, withRetries, type RetryOptions } from "./retry.ts"
export type { StreamLine, StreamOptions } from "./stream.ts"
export {
  startWebhookReceiver,
  webhookListener,
  type Delivery,
  type ReceiverOptions,
  type WebhookReceiver,
} from "./webhook-receiver.ts"
export { challengeResponse, verifyDelivery, type Verification, type WebhookSecrets } from "./webhook-signatures.ts"
