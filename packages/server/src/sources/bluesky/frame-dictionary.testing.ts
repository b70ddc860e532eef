/** A dictionary of zstd as a host of Jetstream has it. */

/** Magic number, number and tables of entropy, which `zstd --train` made of events like those of tests. */
const head = Buffer.from(
  "N6Qw7AcAAAAiEMgKkub///////8PlAu73YZNbUN4d6P3bt1ESOKAzDiBAjMFACASikrBwu0AAASAwQkcJlQRIAcOw6FQGAAmg8FgABgMBIKBBFDADAMxDIZELFkGAAAABLXnuGgYAQDGAAAAAAAAAAAAAAEAAAAEAAAACAAAAA==",
  "base64",
)

/** Text that events share. */
const shared =
  '{"$type":"message","payload":{"$type":"network.bsky.jetstream.subscribeEvents#commit","seq":1,"did":"did:plc:'

/** The dictionary of a number. */
export function madeDictionary(id: number): Buffer {
  const bytes = Buffer.concat([head, Buffer.from(shared)])
  bytes.writeUInt32LE(id, 4)
  return bytes
}
