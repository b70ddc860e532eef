/**
 * Frames of `subscribeEvents` that are compressed with a dictionary of the host: each binary message is one frame of zstd.
 *
 * A host has one dictionary at a time, and refuses a connection that names another one. Source: bluesky-social/jetstream,
 * docs/README.md and the lexicon of `getZstdDictionary`; RFC 8878, 5 for the dictionary.
 */
import { constants, zstdDecompressSync } from "node:zlib"
import type { OutboundPosture } from "../../runtime/outbound/outbound-address.ts"
import { AdvisedError } from "../positioned/positioned-source.ts"
import { wholeResponse } from "../positioned/whole-response.ts"

/** A dictionary, and the number by which a connection names it. */
export interface FrameDictionary {
  readonly id: number
  readonly bytes: Buffer
}

/** The method that answers with the dictionary. */
const dictionaryPath = "/xrpc/network.bsky.jetstream.getZstdDictionary"

/** Most bytes of a dictionary. Ours: the host's has 64 KiB. */
const dictionaryBytesMax = 1024 * 1024

/** How a dictionary of zstd begins, and the place of its number. Source: RFC 8878, 5. */
const magic = 0xec_30_a4_37
const idAt = 4

/** Log of the largest window of a frame: a frame cannot make the process allocate more. Ours: 8 MiB, as RFC 8878, 3.1.1.1.2 advises. */
const windowLogMax = 23

/** The present dictionary of the host of a subscription. Throws when the host gives none. */
export async function dictionaryOf(
  subscription: string,
  { posture }: { readonly posture: OutboundPosture },
  signal: AbortSignal,
): Promise<FrameDictionary> {
  const url = new URL(dictionaryPath, subscription.replace(/^ws/, "http"))
  const { status, body } = await wholeResponse(url, { headers: {}, posture, bytesMax: dictionaryBytesMax }, signal)
  if (status !== 200 || body.length < idAt + 4 || body.readUInt32LE(0) !== magic) {
    const said = status === 200 ? "no dictionary of zstd" : `the status ${status}`
    throw new AdvisedError(
      `${url.host} has answered ${dictionaryPath} with ${said}.`,
      "Remove the setting compression, or read from a host that has a dictionary.",
    )
  }
  return { id: body.readUInt32LE(idAt), bytes: body }
}

/** The text of a compressed frame; undefined for what cannot be decompressed, or would have more than `bytesMax`. */
export function decompressedFrame(
  frame: Uint8Array,
  { bytes: dictionary }: FrameDictionary,
  bytesMax: number,
): Buffer | undefined {
  try {
    const params = { [constants.ZSTD_d_windowLogMax]: windowLogMax }
    return zstdDecompressSync(frame, { dictionary, maxOutputLength: bytesMax, params })
  } catch {
    return undefined
  }
}
