/**
 * The thread in which a mapping runs: it sees items, its expression, and nothing else of the server, not even the
 * environment. Its progress stands in shared memory, which tells the other side which item keeps it from answering.
 */
import { mappedItemFault } from "../../conversion/mapped-item.ts"
import { servePort } from "../../runtime/port-calls.ts"
import { serveThread, startThread, type Thread } from "../../runtime/thread.ts"
import { compileMapping, type MappingBounds } from "./mapping-program.ts"
import type { MappedLine } from "./item-mapper.ts"
import type { SourceItem } from "./source-item.ts"

/** Functions of the thread. */
export interface MappingFunctions {
  map(items: readonly SourceItem[]): Promise<readonly MappedLine[]>
}

/** Settings of the thread. */
export interface MappingThreadSettings extends MappingBounds {
  readonly expression: string
  /** One 32-bit number: the index of the item that is mapped. */
  readonly progress: SharedArrayBuffer
}

/** Heap beyond which an item is at fault, in MB. Ours. */
const heapMbMax = 96

/** Starts the thread. Throws `InvalidMapping`. */
export function startMappingThread(settings: MappingThreadSettings): Promise<Thread> {
  return startThread(import.meta.url, settings, [], { heapMbMax, hidesEnvironment: true })
}

serveThread(import.meta.url, async ({ expression, progress, ...bounds }: MappingThreadSettings, port) => {
  const program = await compileMapping(expression, bounds, mappedItemFault)
  const current = new Int32Array(progress)
  servePort<MappingFunctions>(port, {
    async map(items: readonly SourceItem[]) {
      const lines: MappedLine[] = []
      for (const [index, item] of items.entries()) {
        Atomics.store(current, 0, index)
        lines.push(await program.map(item))
      }
      return lines
    },
  })
  return { [Symbol.asyncDispose]: () => Promise.resolve() }
})
