import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { areaKmMax, holdsPoint, meetsBox, sidesKm } from "./area.ts"
import type { Area, Box, Point } from "./area.ts"

const circle = (longitude: number, latitude: number, radiusKm: number): Area => ({
  kind: "circle",
  centre: [longitude, latitude],
  radiusKm,
})
const box = (...sides: Box): Area => ({ kind: "box", box: sides })

/** Kilometres of one degree of a meridian. */
const kmPerDegree = 111.195

describe("a circle", () => {
  test.each<[string, Area, Point, boolean]>([
    ["its centre", circle(2.35, 48.86, 0.001), [2.35, 48.86], true],
    ["the Louvre, 1.2 km from Notre-Dame", circle(2.3499, 48.853, 1.5), [2.3376, 48.8606], true],
    ["the Louvre, too far", circle(2.3499, 48.853, 1), [2.3376, 48.8606], false],
    ["9.9 km north", circle(0, 0, 10), [0, 9.9 / kmPerDegree], true],
    ["10.1 km north", circle(0, 0, 10), [0, 10.1 / kmPerDegree], false],
    ["a degree of longitude at 60° north, half as long", circle(20, 60, 56), [21, 60], true],
    ["the same at the equator", circle(20, 0, 56), [21, 0], false],
    ["over the 180th meridian", circle(179.95, 0, 15), [-179.95, 0], true],
    ["over the 180th meridian, westwards", circle(-179.95, 10, 15), [179.95, 10], true],
    ["180° is -180°", circle(180, 5, 0.1), [-180, 5], true],
    ["over the north pole", circle(0, 89.95, 12), [180, 89.95], true],
    ["too far over the north pole", circle(0, 89.95, 11), [180, 89.95], false],
    ["the south pole, whatever its longitude", circle(77, -90, 1), [-120, -90], true],
    ["the other side of the earth", circle(10, 20, 40), [-170, -20], false],
  ])("holds %s: %#", (_, area, point, expected) => {
    expect(holdsPoint(area, point)).toBe(expected)
  })

  test.each<[string, Area, Box, boolean]>([
    ["a box around it", circle(0, 0, 1), [-10, -10, 10, 10], true],
    ["a box within it", circle(0, 0, 40), [-0.1, -0.1, 0.1, 0.1], true],
    ["a box whose side is near", circle(0, 0, 20), [0.17, -5, 9, 5], true],
    ["a box whose side is too far", circle(0, 0, 20), [0.19, -5, 9, 5], false],
    ["a box whose corner is near", circle(0, 0, 20), [0.12, 0.12, 1, 1], true],
    [
      "a box whose corner is too far, though its sides' lines are near",
      circle(0, 0, 20),
      [0.15, 0.15, 1, 1],
      false,
    ],
    ["a box over the 180th meridian", circle(-179.9, 0, 1), [179, -1, -179, 1], true],
    ["a box that ends at the 180th meridian", circle(-179.99, 0, 5), [179, -1, 180, 1], true],
    ["the whole earth", circle(5, 5, 1), [-180, -90, 180, 90], true],
    ["a box that touches the pole, from beside it", circle(0, 89.9, 12), [90, 80, 91, 90], true],
    ["a box that touches the pole, too far beside it", circle(0, 89.9, 11), [90, 80, 91, 90], false],
    ["a box beyond the pole", circle(0, 89.95, 12), [179, 80, -179, 89.95], true],
    ["a single point", circle(0, 0, 20), [0.1, 0.1, 0.1, 0.1], true],
  ])("meets %s: %#", (_, area, other, expected) => {
    expect(meetsBox(area, other)).toBe(expected)
  })
})

describe("a box", () => {
  test.each<[string, Area, Point, boolean]>([
    ["a point inside", box(2.2, 48.8, 2.5, 48.9), [2.35, 48.85], true],
    ["its corner", box(2.2, 48.8, 2.5, 48.9), [2.2, 48.9], true],
    ["a point to the east", box(2.2, 48.8, 2.5, 48.9), [2.51, 48.85], false],
    ["a point to the north", box(2.2, 48.8, 2.5, 48.9), [2.35, 48.91], false],
    ["a point of the other hemisphere", box(2.2, 48.8, 2.5, 48.9), [-177.65, 48.85], false],
    ["a point east of the 180th meridian", box(179.9, -1, -179.9, 1), [-179.95, 0], true],
    ["a point west of the 180th meridian", box(179.9, -1, -179.9, 1), [179.95, 0], true],
    ["the 180th meridian by either name", box(179.9, -1, -179.9, 1), [-180, 0], true],
    ["the 180th meridian where it ends", box(179.9, -1, 180, 1), [-180, 0], true],
    ["the 180th meridian where it begins", box(-180, -1, -179.9, 1), [180, 0], true],
    ["Greenwich, far from the 180th meridian", box(179.9, -1, -179.9, 1), [0, 0], false],
    ["a pole", box(10, 89.9, 10.1, 90), [10.05, 90], true],
  ])("holds %s: %#", (_, area, point, expected) => {
    expect(holdsPoint(area, point)).toBe(expected)
  })

  test.each<[string, Box, Box, boolean]>([
    ["a box inside", [0, 0, 10, 10], [4, 4, 5, 5], true],
    ["a box around", [4, 4, 5, 5], [0, 0, 10, 10], true],
    ["a box over a corner", [0, 0, 10, 10], [9, 9, 12, 12], true],
    ["a box across, without a corner of either in the other", [0, 4, 10, 5], [4, 0, 5, 10], true],
    ["a box that touches a side", [0, 0, 10, 10], [10, 2, 12, 3], true],
    ["a box that touches a corner", [0, 0, 10, 10], [10, 10, 12, 12], true],
    ["a box beside", [0, 0, 10, 10], [10.1, 0, 12, 10], false],
    ["a box above", [0, 0, 10, 10], [0, 10.1, 10, 12], false],
    ["both over the 180th meridian", [179, 0, -179, 1], [179.9, 0, -179.9, 1], true],
    ["one over the 180th meridian, from the west", [179, 0, -179, 1], [178, 0, 179.5, 1], true],
    ["one over the 180th meridian, from the east", [179, 0, -179, 1], [-179.5, 0, -178, 1], true],
    ["one over the 180th meridian, elsewhere", [179, 0, -179, 1], [-10, 0, 10, 1], false],
    ["the band around the earth", [-180, 0, 180, 1], [33, 0.5, 34, 0.6], true],
  ])("meets %s: %#", (_, one, other, expected) => {
    expect(meetsBox(box(...one), other)).toBe(expected)
    expect(meetsBox(box(...other), one)).toBe(expected)
  })
})

const longitude = fc.double({ min: -180, max: 180, noNaN: true })
const latitude = fc.double({ min: -90, max: 90, noNaN: true })
const someBox = fc
  .tuple(
    longitude,
    latitude,
    fc.double({ min: 0, max: 5, noNaN: true }),
    fc.double({ min: 0, max: 3, noNaN: true }),
  )
  .map(([west, south, width, height]): Box => {
    const east = west + width
    return [west, south, east > 180 ? east - 360 : east, Math.min(90, south + height)]
  })

/** Points of a box, its corners and sides among them. */
function pointsOf([west, south, east, north]: Box): readonly Point[] {
  const width = east >= west ? east - west : east - west + 360
  const steps = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]
  return steps.flatMap((across) =>
    steps.map((up): Point => {
      const at = west + across * width
      return [at > 180 ? at - 360 : at, south + up * (north - south)]
    }),
  )
}

/** A point so far from the centre in that direction; both in degrees of a great circle. */
function pointFrom([longitudeFrom, latitudeFrom]: Point, far: number, direction: number): Point {
  const radian = Math.PI / 180
  const [lat, angle, way] = [latitudeFrom * radian, far * radian, direction * radian]
  const sine = Math.sin(lat) * Math.cos(angle) + Math.cos(lat) * Math.sin(angle) * Math.cos(way)
  const turned = Math.atan2(
    Math.sin(way) * Math.sin(angle) * Math.cos(lat),
    Math.cos(angle) - Math.sin(lat) * sine,
  )
  const at = longitudeFrom + turned / radian
  return [((at + 540) % 360) - 180, Math.asin(Math.max(-1, Math.min(1, sine))) / radian]
}

const someCircle = fc.record({
  centre: fc.tuple(longitude, latitude),
  radiusKm: fc.double({ min: 0.1, max: areaKmMax, noNaN: true }),
})

test("a circle holds the points within its radius, in all directions and everywhere on earth", () => {
  fc.assert(
    fc.property(someCircle, fc.double({ min: 0, max: 360, noNaN: true }), ({ centre, radiusKm }, way) => {
      const area: Area = { kind: "circle", centre, radiusKm }
      expect(holdsPoint(area, pointFrom(centre, (radiusKm * 0.999) / kmPerDegree, way))).toBe(true)
      expect(holdsPoint(area, pointFrom(centre, (radiusKm * 1.001) / kmPerDegree, way))).toBe(false)
    }),
    { numRuns: 2000 },
  )
})

/** An area and a box that are not far from each other, at times apart and at times not. */
const neighbours = fc
  .record({
    other: someBox,
    far: fc.double({ min: 0, max: 5, noNaN: true }),
    way: fc.double({ min: 0, max: 360, noNaN: true }),
    radiusKm: fc.double({ min: 1, max: areaKmMax, noNaN: true }),
    kind: fc.constantFrom("circle", "box"),
  })
  .map(({ other, far, way, radiusKm, kind }): { readonly area: Area; readonly other: Box } => {
    const [at, up] = pointFrom([other[0], other[1]], far, way)
    if (kind === "circle") return { area: circle(at, up, radiusKm), other }
    const east = at + radiusKm / kmPerDegree
    return {
      area: box(at, up, east > 180 ? east - 360 : east, Math.min(90, up + radiusKm / kmPerDegree)),
      other,
    }
  })

test("an area that holds a point of a box meets the box", () => {
  let met = 0
  fc.assert(
    fc.property(neighbours, ({ area, other }) => {
      const isMet = meetsBox(area, other)
      if (pointsOf(other).some((point) => holdsPoint(area, point))) expect(isMet).toBe(true)
      if (isMet) met++
    }),
    { numRuns: 2000 },
  )
  expect(met).toBeGreaterThan(100)
})

test("a circle meets a box only when a point of the box is about within the radius", () => {
  fc.assert(
    fc.property(neighbours, ({ area, other }) => {
      if (area.kind === "box" || !meetsBox(area, other)) return
      // Between the points that are tried lie up to a quarter of five degrees; half of that, in both directions.
      const wider: Area = { ...area, radiusKm: area.radiusKm + 0.9 * kmPerDegree }
      expect(pointsOf(other).some((point) => holdsPoint(wider, point))).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

test("boxes meet both ways round, and themselves", () => {
  fc.assert(
    fc.property(neighbours, ({ area, other }) => {
      expect(meetsBox(box(...other), other)).toBe(true)
      if (area.kind === "box") expect(meetsBox(area, other)).toBe(meetsBox(box(...other), area.box))
    }),
    { numRuns: 2000 },
  )
})

test.each<[Box, number, number]>([
  [[0, 0, 1, 1], 111.2, 111.2],
  [[0, 60, 1, 61], 55.6, 111.2],
  [[0, -61, 1, -60], 55.6, 111.2],
  // The widest parallel is the equator, though neither side is on it.
  [[0, -60, 1, 60], 111.2, 13_343],
  [[179.5, 0, -179.5, 0], 111.2, 0],
  [[-180, 0, 180, 0], 40_030, 0],
  [[5, 5, 5, 5], 0, 0],
])("the sides of %j are %d and %d km long", (sides, width, height) => {
  const { widthKm, heightKm } = sidesKm(sides)
  expect(widthKm).toBeCloseTo(width, width > 1000 ? -1 : 1)
  expect(heightKm).toBeCloseTo(height, height > 1000 ? -1 : 1)
})
