import fc from "fast-check"
import { expect, test } from "vitest"
import { DeliveryTags } from "./delivery-tags.ts"

test("all tags up to the first that is not done are acknowledged at once, later ones by themselves", () => {
  const tags = new DeliveryTags()
  for (const tag of [1, 2, 3, 5, 7]) tags.acknowledge(tag)
  expect(tags.take()).toEqual({ upTo: 3, single: [5, 7] })
  tags.acknowledge(4)
  expect(tags.take()).toEqual({ upTo: 4, single: [] })
  tags.end(6)
  expect(tags.take()).toEqual({ single: [] })
  tags.acknowledge(8)
  expect(tags.take()).toEqual({ upTo: 8, single: [] })
})

test("a tag that is held back costs no memory for those that are done behind it", () => {
  const tags = new DeliveryTags()
  for (let tag = 2; tag <= 10_000; tag += 1) {
    tags.acknowledge(tag)
    if (tag % 100 === 0) tags.take()
  }
  expect(tags.rangeCount).toBe(1)
  tags.end(1)
  tags.take()
  expect(tags.rangeCount).toBe(0)
})

test("whatever the order, a server that counts as AMQP says acknowledges exactly what is to be acknowledged", () => {
  const steps = fc.array(fc.record({ pick: fc.nat(), isAck: fc.boolean(), takes: fc.boolean() }), { maxLength: 60 })
  fc.assert(
    fc.property(steps, (all) => {
      const tags = new DeliveryTags()
      const open = new Set(all.map((_, at) => at + 1))
      const unknown: number[] = []
      const [wanted, acknowledged] = [new Set<number>(), new Set<number>()]
      const settle = (tag: number): void => {
        if (!open.delete(tag)) unknown.push(tag)
        acknowledged.add(tag)
      }
      const left = [...open]
      const takeAll = (): void => {
        const { upTo, single } = tags.take()
        if (upTo !== undefined) {
          if (!open.has(upTo)) unknown.push(upTo)
          for (const tag of open) if (tag <= upTo) settle(tag)
        }
        single.forEach(settle)
      }
      for (const { pick, isAck, takes } of all) {
        const [tag = 0] = left.splice(pick % left.length, 1)
        if (isAck) {
          tags.acknowledge(tag)
          wanted.add(tag)
        } else {
          tags.end(tag)
          open.delete(tag)
        }
        if (takes) takeAll()
      }
      takeAll()
      expect([unknown, acknowledged]).toEqual([[], wanted])
    }),
  )
})
