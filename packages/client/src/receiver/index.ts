/** Deliveries of a webhook, received wherever there is WebCrypto: Node, Deno, Bun, workers. Nothing here imports from `node:`. */
export { fastifyPlugin, honoHandler, nodeHandler } from "./adapters.ts"
export { receiver, type Delivery, type Receiver, type ReceiverOptions, type ReplayStatusEvent } from "./receiver.ts"
export { memoryRepeats, type RepeatState, type RepeatStore } from "./repeats.ts"
export type { WebhookSecrets } from "./signatures.ts"
