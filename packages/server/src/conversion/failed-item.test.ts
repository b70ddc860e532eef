import { expect, test } from "vitest"
import type { Converter } from "./converter.ts"
import { withFailedItems } from "./failed-item.ts"

const inner: Converter = {
  idOf: () => undefined,
  begin: (line) => ({ posts: [], users: [], finish: () => ({ kind: "ignored", reason: `inner: ${line}` }) }),
}

const known = { postId: () => undefined, user: () => undefined }

function converted(line: string) {
  const conversion = withFailedItems(inner).begin(line)
  return { position: conversion.position, ...conversion.finish(known) }
}

test("an item that could not be read is rejected for that reason, with the record as it was received", () => {
  const error = { title: "Line Too Long", detail: "It has 9 bytes." }
  expect(converted(JSON.stringify({ error, record: "abc", cursor: "7" }))).toEqual({
    position: "7",
    kind: "rejected",
    ...error,
    record: "abc",
  })
})

test("an item that the mapping passes over moves the position", () => {
  expect(converted('{"skipped":true,"cursor":"8"}')).toEqual({
    position: "8",
    kind: "ignored",
    reason: "skipped by the mapping",
  })
})

test("all other lines are for the converter behind", () => {
  for (const line of ['{"uri":"a"}', '{"error":', "not json"])
    expect(converted(line)).toMatchObject({ reason: `inner: ${line}` })
})
