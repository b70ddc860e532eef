/**
 * The circles and boxes of rules, on the surface of the earth.
 *
 * A post is in an area if its exact point is; without a point, if the centre of its place's box is. X's documentation
 * says that the place must lie within the area, but its results follow the centre: in all 464 hits without a point the
 * centre lies inside, and 105 posts whose place overlaps the area but has its centre outside were not found.
 */

/** Degrees: west, south, east, north. A box whose east is less than its west crosses the 180th meridian. */
export type Box = readonly [west: number, south: number, east: number, north: number]

/** Degrees. */
export type Point = readonly [longitude: number, latitude: number]

/** The area of a rule. */
export type Area =
  | { readonly kind: "circle"; readonly centre: Point; readonly radiusKm: number }
  | { readonly kind: "box"; readonly box: Box }

/** Mean radius of the earth. Source: IUGG. */
const earthKm = 6371.0088

/** Maximum radius, and maximum length of a side. Source: docs.x.com, "Operators": 25 miles. */
export const areaKmMax = 25 * 1.609_344

/** True if the point is in the area, edge included. */
export function containsPoint(area: Area, point: Point): boolean {
  if (area.kind === "circle") return distanceKm(area.centre, point) <= area.radiusKm
  const [west, south, east, north] = area.box
  const [longitude, latitude] = point
  return latitude >= south && latitude <= north && isWithin(longitude, west, east)
}

/** The centre of the box, in degrees: X's position of a place. The longitude is between -180 and 180 in every case. */
export function centreOf([west, south, east, north]: Box): Point {
  const longitude = west + spanOf(west, east) / 2
  return [longitude > 180 ? longitude - 360 : longitude, (south + north) / 2]
}

/** Width along the widest parallel, and height. */
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

/** True if the longitude lies between west and east, going east. 180 and -180 are the same meridian. */
function isWithin(longitude: number, west: number, east: number): boolean {
  const isBetween = (one: number): boolean => (east >= west ? one >= west && one <= east : one >= west || one <= east)
  return isBetween(longitude) || (Math.abs(longitude) === 180 && isBetween(-longitude))
}

/** Degrees from west to east, going east: 0 to 360. */
function spanOf(west: number, east: number): number {
  return east >= west ? Math.min(east - west, 360) : east - west + 360
}

function distanceKm(from: Point, to: Point): number {
  const latitudes = radians(to[1] - from[1])
  const longitudes = radians(to[0] - from[0])
  const haversine =
    Math.sin(latitudes / 2) ** 2 + Math.cos(radians(from[1])) * Math.cos(radians(to[1])) * Math.sin(longitudes / 2) ** 2
  return 2 * earthKm * Math.asin(Math.min(1, Math.sqrt(haversine)))
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180
}
