/** Where a post was sent from. */

import { centreOf, type Box, type Point } from "../language/area.ts"
import type { Mode } from "../text/mode.ts"
import { keyOfWords } from "../text/words.ts"
import { keysOf, type Key } from "./field-values.ts"
import type { PostObjects } from "./post-objects.ts"
import { arrayOf, idOf, numberOf, objectOf, textOf, type Members } from "./untyped-json.ts"

/** The exact point, otherwise the centre of the place's box; undefined if the post has neither. A repost has none. */
export function locationOf(post: PostObjects): Point | undefined {
  const geo = objectOf(post.data.geo)
  const point = pointOf(objectOf(geo.coordinates).coordinates)
  if (point) return point
  const box = boxOf(objectOf(post.place(idOf(geo.place_id))?.geo).bbox)
  return box && centreOf(box)
}

/** Whether the post names a place or has an exact point. */
export function hasGeo(post: PostObjects): boolean {
  const geo = objectOf(post.data.geo)
  return idOf(geo.place_id) !== undefined || pointOf(objectOf(geo.coordinates).coordinates) !== undefined
}

/** Id, name and full name of the places. */
export function placeKeys(post: PostObjects): readonly Key[] {
  return placeIdsOf(post).flatMap((id) => keysOfPlace(id, post.place(id), post.mode))
}

/** Those of one place, which may be unknown. */
export function keysOfPlace(id: string, place: Members | undefined, mode: Mode): readonly Key[] {
  const names = [id, textOf(place?.name), textOf(place?.full_name)]
  return keysOf("place", ...names.map((name) => name && keyOfWords(name, mode)))
}

/** Country codes of the places. */
export function countryKeys(post: PostObjects): readonly Key[] {
  return placeIdsOf(post).flatMap((id) => keysOfCountry(post.place(id)))
}

/** That of one place, which may be unknown. */
export function keysOfCountry(place: Members | undefined): readonly Key[] {
  return keysOf("place", textOf(place?.country_code))
}

/** A repost has the place of its original too. Source: results of X's own search for `place:Berlin`. */
function placeIdsOf(post: PostObjects): readonly string[] {
  return [post.data, objectOf(post.original)].flatMap((one) => idOf(objectOf(one.geo).place_id) ?? [])
}

function pointOf(value: unknown): Point | undefined {
  const [longitude, latitude] = arrayOf(value).map(numberOf)
  return longitude === undefined || latitude === undefined ? undefined : [longitude, latitude]
}

function boxOf(value: unknown): Box | undefined {
  const [west, south, east, north] = arrayOf(value).map(numberOf)
  const isBox = west !== undefined && south !== undefined && east !== undefined && north !== undefined
  return isBox ? [west, south, east, north] : undefined
}
