import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { areaKmMax, centreOf, containsPoint, sidesKm, type Area, type Box, type Point } from "./area.ts"

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
  ])("an area contains %s: %#", (_, area, point, expected) => {
    expect(containsPoint(area, point)).toBe(expected)
  })
})

describe("a box", () => {
  test.each<[string, Area, Point, boolean]>([
    ["a point inside", box(2.2, 48.8, 2.5, 48.9), [2.35, 48.85], true],
    ["its corner", box(2.2, 48.8, 2.5, 48.9), [2.2, 48.9], true],
    ["its side", box(2.2, 48.8, 2.5, 48.9), [2.5, 48.85], true],
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
  ])("an area contains %s: %#", (_, area, point, expected) => {
    expect(containsPoint(area, point)).toBe(expected)
  })
})

describe("the centre", () => {
  test.each<[string, Box, Point]>([
    ["a place", [2, 48, 3, 50], [2.5, 49]],
    ["a place that is a point", [13.4, 52.5, 13.4, 52.5], [13.4, 52.5]],
    ["a place over the 180th meridian, nearer to its west", [178, -20, -170, -10], [-176, -15]],
    ["a place over the 180th meridian, nearer to its east", [170, 10, -178, 12], [176, 11]],
    ["a place around the 180th meridian", [179, -1, -179, 1], [180, 0]],
    ["the whole earth", [-180, -90, 180, 90], [0, 0]],
  ])("the centre of %s is in its middle: %#", (_, sides, expected) => {
    expect(centreOf(sides)).toEqual(expected)
  })
})

const longitude = fc.double({ min: -180, max: 180, noNaN: true })
const latitude = fc.double({ min: -90, max: 90, noNaN: true })
const someBox = fc
  .tuple(longitude, latitude, fc.double({ min: 0, max: 5, noNaN: true }), fc.double({ min: 0, max: 3, noNaN: true }))
  .map(([west, south, width, height]): Box => {
    const east = west + width
    return [west, south, east > 180 ? east - 360 : east, Math.min(90, south + height)]
  })

/** A point so far from the centre in that direction; both in degrees of a great circle. */
function pointFrom([longitudeFrom, latitudeFrom]: Point, far: number, direction: number): Point {
  const radian = Math.PI / 180
  const [lat, angle, way] = [latitudeFrom * radian, far * radian, direction * radian]
  const sine = Math.sin(lat) * Math.cos(angle) + Math.cos(lat) * Math.sin(angle) * Math.cos(way)
  const turned = Math.atan2(Math.sin(way) * Math.sin(angle) * Math.cos(lat), Math.cos(angle) - Math.sin(lat) * sine)
  const at = longitudeFrom + turned / radian
  return [((at + 540) % 360) - 180, Math.asin(Math.max(-1, Math.min(1, sine))) / radian]
}

const someCircle = fc.record({
  centre: fc.tuple(longitude, latitude),
  radiusKm: fc.double({ min: 0.1, max: areaKmMax, noNaN: true }),
})

test("a circle contains the points within its radius, in all directions and everywhere on earth", () => {
  fc.assert(
    fc.property(someCircle, fc.double({ min: 0, max: 360, noNaN: true }), ({ centre, radiusKm }, way) => {
      const area: Area = { kind: "circle", centre, radiusKm }
      expect(containsPoint(area, pointFrom(centre, (radiusKm * 0.999) / kmPerDegree, way))).toBe(true)
      expect(containsPoint(area, pointFrom(centre, (radiusKm * 1.001) / kmPerDegree, way))).toBe(false)
    }),
    { numRuns: 2000 },
  )
})

test("a box contains its centre, and so do its south-western and north-eastern quarters", () => {
  fc.assert(
    fc.property(someBox, (sides) => {
      const centre = centreOf(sides)
      const [west, south, east, north] = sides
      expect(containsPoint(box(...sides), centre)).toBe(true)
      expect(containsPoint(box(west, south, ...centre), centre)).toBe(true)
      expect(containsPoint(box(...centre, east, north), centre)).toBe(true)
    }),
    { numRuns: 500 },
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
