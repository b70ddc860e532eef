/** The values of `point_radius:` and `bounding_box:`. */

import { areaKmMax, sidesKm, type Area } from "./area.ts"

const kmPer = { mi: 1.609_344, km: 1 } as const

/** The area that the value `[…]` describes, or a reason why it is invalid. Source: docs.x.com, "Operators". */
export function readArea(kind: "circle" | "box", value: string): Area | string {
  const inside = /^\[(.*)\]$/su.exec(value)?.[1]?.trim().split(/\s+/) ?? []
  return kind === "circle" ? readCircle(inside) : readBox(inside)
}

function readCircle([longitudeText, latitudeText, radiusText, ...rest]: readonly string[]): Area | string {
  const form = "[longitude latitude radius] is expected, such as [2.355128 48.861118 16km]"
  const [, radius, unit] = /^(\d{1,6}(?:\.\d{1,9})?)(mi|km)$/i.exec(radiusText ?? "") ?? []
  const centre = [degrees(longitudeText), degrees(latitudeText)] as const
  if (rest.length > 0 || centre.includes(undefined) || radius === undefined) return form
  const [longitude = 0, latitude = 0] = centre
  const outside = outOfRange([longitude], [latitude])
  if (outside !== undefined) return outside
  const radiusKm = Number(radius) * kmPer[unit?.toLowerCase() === "mi" ? "mi" : "km"]
  if (radiusKm <= 0 || radiusKm > areaKmMax) return "A radius of more than 0 and at most 25mi is expected"
  return { kind: "circle", centre: [longitude, latitude], radiusKm }
}

function readBox(texts: readonly string[]): Area | string {
  const [west, south, east, north] = texts.map(degrees)
  if (texts.length !== 4 || west === undefined || south === undefined || east === undefined || north === undefined) {
    return "[west south east north] is expected, such as [-105.301758 39.964069 -105.178505 40.09455]"
  }
  const outside = outOfRange([west, east], [south, north])
  if (outside !== undefined) return outside
  if (south > north) return "The south comes before the north, and is not above it"
  const box = [west, south, east, north] as const
  const { widthKm, heightKm } = sidesKm(box)
  if (widthKm > areaKmMax || heightKm > areaKmMax) return "Each side may be at most 25mi long"
  return { kind: "box", box }
}

function degrees(text: string | undefined): number | undefined {
  return text !== undefined && /^[+-]?\d{1,3}(?:\.\d{1,20})?$/.test(text) ? Number(text) : undefined
}

function outOfRange(longitudes: readonly number[], latitudes: readonly number[]): string | undefined {
  if (longitudes.some((one) => Math.abs(one) > 180)) return "A longitude is between -180 and 180"
  if (latitudes.some((one) => Math.abs(one) > 90)) return "A latitude is between -90 and 90"
  return undefined
}
