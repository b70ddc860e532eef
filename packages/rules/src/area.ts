/**
 * Areas of the earth: the circles and boxes of rules, the points and places of posts.
 *
 * X's documentation says that a place must lie within the area. Its results say that it need only meet it:
 * 354 of 530 hits of one `bounding_box:` query reach beyond the box. So places meet areas here.
 */

/** Degrees: west, south, east, north. East of less than west goes over the 180th meridian. */
export type Box = readonly [west: number, south: number, east: number, north: number]

/** Degrees. */
export type Point = readonly [longitude: number, latitude: number]

/** What a rule asks for. */
export type Area =
  | { readonly kind: "circle"; readonly centre: Point; readonly radiusKm: number }
  | { readonly kind: "box"; readonly box: Box }

/** Mean radius of the earth. Source: IUGG. */
const earthKm = 6371.0088

/** Longest radius and side. Source: docs.x.com, "Operators": 25 miles. */
export const areaKmMax = 25 * 1.609_344

/** Whether the area holds the point. */
export function holdsPoint(area: Area, point: Point): boolean {
  return meetsBox(area, [point[0], point[1], point[0], point[1]])
}

/** Whether the area and the box have a point in common. */
export function meetsBox(area: Area, box: Box): boolean {
  if (area.kind === "box") return boxesMeet(area.box, box)
  return distanceKm(area.centre, nearestIn(box, area.centre)) <= area.radiusKm
}

/** Width at its widest parallel, and height. */
export function sidesKm([west, south, east, north]: Box): {
  readonly widthKm: number
  readonly heightKm: number
} {
  const nearest = south <= 0 && north >= 0 ? 0 : Math.min(Math.abs(south), Math.abs(north))
  const kmPerDegree = (earthKm * Math.PI) / 180
  return {
    widthKm: spanOf(west, east) * kmPerDegree * Math.cos(radians(nearest)),
    heightKm: (north - south) * kmPerDegree,
  }
}

function boxesMeet(left: Box, right: Box): boolean {
  if (left[1] > right[3] || right[1] > left[3]) return false
  return isWithin(right[0], left[0], left[2]) || isWithin(left[0], right[0], right[2])
}

/** Whether the longitude lies between west and east, going east. 180 and -180 are one meridian. */
function isWithin(longitude: number, west: number, east: number): boolean {
  const isBetween = (one: number): boolean =>
    east >= west ? one >= west && one <= east : one >= west || one <= east
  return isBetween(longitude) || (Math.abs(longitude) === 180 && isBetween(-longitude))
}

/** Degrees from west to east, going east: 0 to 360. */
function spanOf(west: number, east: number): number {
  return east >= west ? Math.min(east - west, 360) : east - west + 360
}

/**
 * The nearest point of the box. East or west of the box it lies on the nearer side, where the shortest way to that
 * meridian arrives: nearer to the pole than the parallel on which the point lies.
 */
function nearestIn([west, south, east, north]: Box, [longitude, latitude]: Point): Point {
  if (isWithin(longitude, west, east)) return [longitude, clamped(latitude, south, north)]
  const toWest = Math.min(spanOf(longitude, west), spanOf(west, longitude))
  const toEast = Math.min(spanOf(longitude, east), spanOf(east, longitude))
  const away = radians(Math.min(toWest, toEast))
  const arrival = Math.atan2(Math.sin(radians(latitude)), Math.cos(radians(latitude)) * Math.cos(away))
  return [toWest < toEast ? west : east, clamped((arrival * 180) / Math.PI, south, north)]
}

function clamped(latitude: number, south: number, north: number): number {
  return Math.min(Math.max(latitude, south), north)
}

function distanceKm(from: Point, to: Point): number {
  const latitudes = radians(to[1] - from[1])
  const longitudes = radians(to[0] - from[0])
  const haversine =
    Math.sin(latitudes / 2) ** 2 +
    Math.cos(radians(from[1])) * Math.cos(radians(to[1])) * Math.sin(longitudes / 2) ** 2
  return 2 * earthKm * Math.asin(Math.min(1, Math.sqrt(haversine)))
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180
}
