import { afterEach, expect, test } from "vitest"
import { compileMapping, InvalidMapping } from "./mapping-program.ts"
import { threadedMapper } from "./threaded-mapper.ts"
import type { ItemMapper } from "./item-mapper.ts"
import type { SourceItem } from "./source-item.ts"

const bounds = { itemBytesMax: 1_048_576, lineBytesMax: 262_144 }
const mappers: ItemMapper[] = []

afterEach(async () => {
  for (const mapper of mappers.splice(0)) await mapper[Symbol.asyncDispose]()
})

function mapperOf(expression: string): ItemMapper {
  const mapper = threadedMapper(expression, bounds)
  mappers.push(mapper)
  return mapper
}

const itemOf = (value: unknown): SourceItem => ({
  bytes: Buffer.from(typeof value === "string" ? value : JSON.stringify(value)),
})

/** A mapping, and the line that it makes of an item. */
const post = '{"uri": "n:" & n, "text": ""}'
const postOf = (n: number): unknown => ({ uri: `n:${n}`, text: "" })

async function mappedInThread(expression: string, ...values: readonly unknown[]): Promise<unknown[]> {
  const lines = await mapperOf(expression).map(values.map(itemOf))
  return lines.map(({ line }) => JSON.parse(line) as unknown)
}

async function mapped(expression: string, ...values: readonly unknown[]): Promise<unknown[]> {
  const program = await compileMapping(expression, bounds)
  const lines: unknown[] = []
  for (const value of values) lines.push(JSON.parse((await program.map(itemOf(value))).line))
  return lines
}

/** The faults of one expression on one item, by title and detail. */
async function faultOf(expression: string, value: unknown = {}): Promise<string> {
  const [line] = await mapped(expression, value)
  const { error } = line as { readonly error?: { readonly title: string; readonly detail: string } }
  return error === undefined ? JSON.stringify(line) : `${error.title}: ${error.detail}`
}

test("items are mapped in order, each with the position that it names or that it came with", async () => {
  const mapper = mapperOf('{ "uri": "a:" & n, "text": $uppercase(words), "cursor": at }')
  const items = [
    itemOf({ n: 1, words: "a", at: 7 }),
    { ...itemOf({ n: 2, words: "b" }), cursor: "x" },
    itemOf({ n: 3, words: "c" }),
  ]
  expect(await mapper.map(items)).toEqual([
    { line: '{"uri":"a:1","text":"A","cursor":7}', cursor: "7" },
    { line: '{"uri":"a:2","text":"B","cursor":"x"}', cursor: "x" },
    { line: '{"uri":"a:3","text":"C"}', cursor: undefined },
  ])
})

test("an item of which the mapping makes no post keeps its own form, and the position that the mapping gives", async () => {
  const mapper = mapperOf('{ "uri": "a:" & n, "text": words, "author": by, "cursor": n }')
  const text = '{"n": 1, "words": "a", "by": "wren"}'
  const [line, ...others] = await mapper.map([itemOf(text)])
  expect(others).toEqual([])
  expect(line?.cursor).toBe("1")
  expect(JSON.parse(line?.line ?? "")).toEqual({
    error: { title: "Invalid Record", detail: '`author` is "wren", and must be an object.' },
    record: text,
    cursor: "1",
  })
})

test("numbers with more digits than a number can hold keep them all", async () => {
  const item = '{"id":1234567890123456789,"list":[-12345678901234567890,1.5,7],"text":"9999999999999999999"}'
  expect(await mapped('{"id": id, "list": list, "text": text}', item)).toEqual([
    { id: "1234567890123456789", list: ["-12345678901234567890", 1.5, 7], text: "9999999999999999999" },
  ])
})

test("an expression that does not end is a dead letter, by whatever it loops, and the items behind it are mapped", async () => {
  const loops: readonly (readonly [loop: string, fault: RegExp])[] = [
    ["($f := function($n){ $f($n + 1) }; $f(1))", /^Mapping Too Slow: The mapping took more than 20 ms\.$/],
    ["($f := function($n){ 1 + $f($n + 1) }; $f(1))", /^Mapping Failed: line 1, column \d+: Stack overflow/],
    // On a slow machine the thread does not come back to look at its time.
    [
      "$map([1..9000], function($v){ [1..9000] })",
      /^Mapping Too Slow: The mapping (took more than 20 ms|did not end, or took too much memory)\.$/,
    ],
    // The library does not return from this one.
    [
      `$match("${"a".repeat(60)}!", /^(a+)+$/)`,
      /^Mapping Too Slow: The mapping did not end, or took too much memory\.$/,
    ],
  ]
  for (const [loop, fault] of loops) {
    const lines = await mappedInThread(`loop ? {"x": ${loop}} : ${post}`, { n: 1 }, { loop: true }, { n: 3 }, { n: 4 })
    expect(lines).toEqual([postOf(1), { error: expect.anything(), record: '{"loop":true}' }, postOf(3), postOf(4)])
    const { title, detail } = (lines[1] as { error: { title: string; detail: string } }).error
    expect(`${title}: ${detail}`).toMatch(fault)
  }
}, 60_000)

test("an expression that takes all memory ends its thread, and nothing else", async () => {
  const grow = '$map([1..9000], function($v){ $uppercase($pad("", 200000, "ab")) & $v })'
  const lines = await mappedInThread(`grow ? {"x": ${grow}} : ${post}`, { n: 1 }, { grow: true }, { n: 3 })
  expect(lines).toEqual([postOf(1), { error: expect.anything(), record: '{"grow":true}' }, postOf(3)])
}, 60_000)

test("results that are no small object are dead letters", async () => {
  expect(await faultOf('["a"]')).toBe("Mapping Failed: The mapping gave an array, and must give an object, or nothing.")
  expect(await faultOf("1 + 1")).toBe("Mapping Failed: The mapping gave a number, and must give an object, or nothing.")
  expect(await faultOf("function($x){ $x }")).toMatch(/^Mapping Failed: The mapping gave a function/)
  expect(await faultOf('{"a": {"b": $uppercase}}')).toBe("Mapping Failed: The mapping gave a function as `b`.")
  expect(await faultOf('{"a": $pad("x", 100000000)}')).toBe("Mapping Failed: The result has more than 256 KiB.")
  expect(await faultOf('{"a": [1..1000000]}')).toMatch(/sequence length/)
  expect(await faultOf('$error("no author: " & $string($))', { id: 1 })).toMatch(/column 7: no author: \{"id":1\}$/)
  expect(await faultOf("{}", "not json")).toMatch(/^Invalid JSON: The item is not JSON: /)
})

test("the mapping may pass over an item, and cannot make lines that are the server's own", async () => {
  expect(await mapped('keep ? {"uri": "a"}', { keep: false }, { keep: true })).toEqual([
    { skipped: true },
    { uri: "a" },
  ])
  expect(await mapped('{"error": {"title": "a"}, "uri": "b", "skipped": true}', {})).toEqual([{ uri: "b" }])
})

test("an expression reaches its item and nothing else", async () => {
  const nothing: readonly string[] = [
    "$.constructor",
    "$.__proto__",
    "constructor.constructor",
    "$$.constructor.prototype",
    "$string.constructor",
    "$string.implementation",
    "$string.environment",
    "(function($x){ $x }).environment",
    "(function($x){ $x }).apply",
    "process",
    "$process",
    "$globalThis",
    "$require",
    "text.length",
    "list.map",
  ]
  for (const expression of nothing) {
    expect(await faultOf(`{"found": ${expression}}`, { text: "abc", list: [1] })).toBe("{}")
  }
  expect(await faultOf('$eval("1 + 1")')).toBe("Mapping Failed: The function $eval is not available.")
  expect(await faultOf('$require("node:fs")')).toMatch(/non-function/)
  expect(await faultOf('constructor("return process")()')).toMatch(/non-function/)
  expect(await faultOf('f("x")', { f: { _jsonata_function: true, implementation: "x" } })).toMatch(/^Mapping Failed: /)
  const polluting =
    '($ ~> |$|{"__proto__": {"polluted": 1}}|; {"a": $merge([{"__proto__": {"polluted": 1}}]).b, "b": x.polluted})'
  const [, after] = await mapped(
    `first ? ${polluting} : {"c": x.polluted, "d": {}.polluted}`,
    { first: true, x: {} },
    { x: {} },
  )
  expect(after).toEqual({})
})

test("an error in an expression has its line and column", async () => {
  const compile = (text: string) => compileMapping(text, bounds)
  await expect(compile('{\n  "id": $string(\n}')).rejects.toThrow(/^line 3, column 1: /)
  await expect(compile("{")).rejects.toBeInstanceOf(InvalidMapping)
  await expect(compile('{"text": "')).rejects.toThrow(/^line 1, column \d+: String literal must be terminated/)
})

test("a mapper that has ended maps nothing", async () => {
  const mapper = mapperOf('{"uri": "a"}')
  await mapper.map([itemOf({})])
  await mapper[Symbol.asyncDispose]()
  await expect(mapper.map([itemOf({})])).rejects.toThrow("The mapping has ended.")
})
