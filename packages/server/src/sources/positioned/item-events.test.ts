import { expect, test } from "vitest"
import { ItemEvents } from "./item-events.ts"

interface ReadItem {
  readonly text: string
  readonly cursor: string | undefined
}

async function read(text: string, size: number, bytesMax = 1_000): Promise<ReadItem[]> {
  const events = await ItemEvents.open(bytesMax, "begin")
  const bytes = Buffer.from(text)
  const items: ReadItem[] = []
  for (let at = 0; at < bytes.length; at += size) {
    for (const item of events.read(bytes.subarray(at, at + size))) {
      items.push({ text: item.fault?.title ?? Buffer.from(item.bytes).toString(), cursor: item.cursor })
    }
  }
  return items
}

test("however a body is cut into chunks, its events are the same, with every kind of line break", async () => {
  const blocks = [": hello", "id: 1\ndata: é", "data: a\ndata: b", "id:\ndata: none", "event: x\nid: 2", "data: last"]
  for (const lineBreak of ["\n", "\r\n", "\r"]) {
    const text = `${blocks.join("\n\n")}\n\n: end`.replaceAll("\n", lineBreak)
    for (const size of [1, 2, 3, 7, 1_000]) {
      expect(await read(text, size)).toEqual([
        { text: "é", cursor: "1" },
        { text: "a\nb", cursor: "1" },
        { text: "none", cursor: undefined },
        { text: "last", cursor: "2" },
      ])
    }
  }
})

test("an event that is too large is passed over, and takes its id along", async () => {
  const large = `id: 2\n${`data: ${"x".repeat(100)}\n`.repeat(30)}\n`
  const text = `id: 1\ndata: a\n\n${large}data: b\n\nid: 3\ndata: c\n\n`
  for (const size of [1, 5, 64, 10_000]) {
    expect(await read(text, size)).toEqual([
      { text: "a", cursor: "1" },
      { text: "Line Too Long", cursor: "1" },
      { text: "b", cursor: "1" },
      { text: "c", cursor: "3" },
    ])
  }
})
