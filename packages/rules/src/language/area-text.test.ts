import fc from "fast-check"
import { expect, test } from "vitest"
import { readArea } from "./area-text.ts"
import { areaKmMax, sidesKm } from "./area.ts"

const circleForm = "[longitude latitude radius] is expected, such as [2.355128 48.861118 16km]"
const boxForm = "[west south east north] is expected, such as [-105.301758 39.964069 -105.178505 40.09455]"
const longitudes = "A longitude is between -180 and 180"
const latitudes = "A latitude is between -90 and 90"
const radius = "A radius of more than 0 and at most 25mi is expected"
const sides = "Each side may be at most 25mi long"

test.each([
  ["[2.355128 48.861118 16km]", [2.355128, 48.861118], 16],
  ["[-105.27346517 40.01924738 10.0mi]", [-105.27346517, 40.01924738], 16.093_44],
  ["[0 0 25mi]", [0, 0], 40.2336],
  ["[0 0 40.2336km]", [0, 0], 40.2336],
  ["[+1 -2 0.5KM]", [1, -2], 0.5],
  ["[180 90 1MI]", [180, 90], 1.609_344],
  ["[-180 -90 1km]", [-180, -90], 1],
  ["[ 1\t2\n3km ]", [1, 2], 3],
])("%s is a circle", (value, centre, radiusKm) => {
  expect(readArea("circle", value)).toEqual({
    kind: "circle",
    centre,
    radiusKm: expect.closeTo(radiusKm, 9) as number,
  })
})

test.each([
  ["", circleForm],
  ["[]", circleForm],
  ["[ ]", circleForm],
  ["[1 2]", circleForm],
  ["[1 2 3]", circleForm],
  ["[1 2 3 km]", circleForm],
  ["[1 2 3km 4]", circleForm],
  ["[1 2 3m]", circleForm],
  ["[1 2 km]", circleForm],
  ["[1 2 -3km]", circleForm],
  ["[1 2 3e1km]", circleForm],
  ["[1 2 .5km]", circleForm],
  ["[1 2 3.km]", circleForm],
  ["[1 2 0x10km]", circleForm],
  ["[1, 2, 3km]", circleForm],
  ["[a b ckm]", circleForm],
  ["[NaN 2 3km]", circleForm],
  ["[Infinity 2 3km]", circleForm],
  ["[1e2 2 3km]", circleForm],
  ["[1 2 3km", circleForm],
  ["1 2 3km]", circleForm],
  ["1 2 3km", circleForm],
  ["[1°N 2°E 3km]", circleForm],
  ["[１ ２ ３km]", circleForm],
  ["[1 2 1234567km]", circleForm],
  ["[180.1 0 1km]", longitudes],
  ["[-181 0 1km]", longitudes],
  ["[999 0 1km]", longitudes],
  ["[0 90.5 1km]", latitudes],
  ["[0 -91 1km]", latitudes],
  // Longitude comes first: a latitude above 90 usually means that they are swapped.
  ["[48.86 -122.4 1km]", latitudes],
  ["[0 0 0km]", radius],
  ["[0 0 0.0mi]", radius],
  ["[0 0 25.1mi]", radius],
  ["[0 0 26mi]", radius],
  ["[0 0 41km]", radius],
  ["[0 0 999999km]", radius],
])("%j is no circle", (value, reason) => {
  expect(readArea("circle", value)).toBe(reason)
})

test.each([
  ["[-105.301758 39.964069 -105.178505 40.09455]", [-105.301758, 39.964069, -105.178505, 40.09455]],
  ["[179.9 -0.1 -179.9 0.1]", [179.9, -0.1, -179.9, 0.1]],
  ["[0 0 0 0]", [0, 0, 0, 0]],
  // Wide in degrees, and short so near to the pole.
  ["[0 89.9 90 90]", [0, 89.9, 90, 90]],
])("%s is a box", (value, box) => {
  expect(readArea("box", value)).toEqual({ kind: "box", box })
})

test.each([
  ["", boxForm],
  ["[]", boxForm],
  ["[1 2 3]", boxForm],
  ["[1 2 3 4 5]", boxForm],
  ["[west south east north]", boxForm],
  ["[1 2 3 4km]", boxForm],
  ["[1,2,3,4]", boxForm],
  ["[1 2 3 4", boxForm],
  ["1 2 3 4", boxForm],
  ["[1 2 3 --4]", boxForm],
  ["[-181 0 -180 0.1]", longitudes],
  ["[0 0 180.5 0.1]", longitudes],
  ["[0 -90.1 0.1 0]", latitudes],
  ["[0 0 0.1 91]", latitudes],
  ["[0 0.1 0.1 0]", "The south comes before the north, and is not above it"],
  ["[2.2 48.9 2.4 48.8]", "The south comes before the north, and is not above it"],
  ["[0 0 0.4 0.1]", sides],
  ["[0 0 0.1 0.4]", sides],
  ["[-180 -90 180 90]", sides],
  // An east that is less than the west gives a box around the earth.
  ["[0.1 0 0 0.1]", sides],
])("%j is no box", (value, reason) => {
  expect(readArea("box", value)).toBe(reason)
})

test("every accepted area is within the limits, and no value throws an error", () => {
  const number = fc.oneof(
    fc.double({ min: -200, max: 200, noNaN: true }).map((value) => value.toFixed(4)),
    fc.constantFrom("0", "-0", "180", "-180", "90", "1e3", "x", ""),
  )
  const text = fc
    .tuple(number, number, number, number, fc.constantFrom("", "km", "mi"))
    .map(([one, two, three, four, unit]) =>
      unit === "" ? `[${one} ${two} ${three} ${four}]` : `[${one} ${two} ${three}${unit}]`,
    )
  fc.assert(
    fc.property(text, fc.constantFrom("circle", "box"), (value, kind) => {
      const area = readArea(kind, value)
      if (typeof area === "string") {
        expect(area).toMatch(/expected|between|before|long$/)
      } else if (area.kind === "circle") {
        expect(area.radiusKm > 0 && area.radiusKm <= areaKmMax).toBe(true)
        expect(Math.abs(area.centre[0]) <= 180 && Math.abs(area.centre[1]) <= 90).toBe(true)
      } else {
        const { widthKm, heightKm } = sidesKm(area.box)
        expect(Math.max(widthKm, heightKm)).toBeLessThanOrEqual(areaKmMax)
      }
    }),
    { numRuns: 1000 },
  )
})
