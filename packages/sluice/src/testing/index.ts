/** `sluice/testing`: a server for the tests of other programs. */
export { startSluice, type SluiceOptions, type TestClock, type TestSluice } from "./start-sluice.ts"
export type { TestApp } from "./test-app.ts"
export type { MediaToSend, PostToSend, SentPost, UserToSend } from "./sent-posts.ts"
export type { MatchOptions, ReceiveOptions, ReceivedDelivery, TestReceiver, TestStream } from "./received.ts"
