/** The mapping of a source tried on a sample, for an operator who writes it. */
import { envelopeLine, type SourceItem } from "./source-item.ts"
import { compileMapping, type MappingBounds } from "./mapping-program.ts"

/** Bounds of samples: larger than any record that ingest takes by default. Ours. */
const sampleBounds: MappingBounds = { itemBytesMax: 16 * 1024 * 1024, lineBytesMax: 16 * 1024 * 1024 }

/**
 * The lines that the items of a sample become for the converter of their source; without an expression they are envelopes.
 * Throws `InvalidMapping`, with the place of the error in the expression. An item that cannot be mapped becomes a line that the
 * converter rejects for that reason.
 */
export async function mapSample(expression: string | undefined, items: readonly string[]): Promise<readonly string[]> {
  const sample = items.map((text): SourceItem => ({ bytes: Buffer.from(text) }))
  if (expression === undefined) return sample.map((item) => envelopeLine(item, sampleBounds.lineBytesMax))
  const program = await compileMapping(expression, sampleBounds)
  const lines: string[] = []
  for (const item of sample) lines.push((await program.map(item)).line)
  return lines
}
