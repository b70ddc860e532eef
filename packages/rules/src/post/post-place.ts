/** The places that a post was sent from. */

import { centreOf, type Box, type Point } from "../language/area.ts"
import { fold } from "../text/fold.ts"
import { keyOfWords } from "../text/words.ts"
import type { KeySink } from "./key-sink.ts"
import { names } from "./member-names.ts"
import { ParsedView } from "./parsed-view.ts"
import type { PostObjects } from "./post-objects.ts"
import type { PostView } from "./post-view.ts"
import type { Members } from "./untyped-json.ts"

const placeNames = [names.name, names.full_name]

/** Reads places that are remembered as objects. */
const earlierView = new ParsedView({})

/** The exact point, otherwise the centre of the place's box; undefined if the post has neither. A repost has none. */
export function locationOf<Node>(post: PostObjects<Node>): Point | undefined {
  const { view, data } = post
  const point = pointOf(post)
  const id = placeIdOf(view, data)
  if (point !== undefined || !view.isPresent(id)) return point
  const included = view.included(names.places, id)
  const box = view.isPresent(included) ? boxOf(view, included) : boxOf<unknown>(earlierView, earlierPlace(post, id))
  return box && centreOf(box)
}

/** True if the post names a place or has an exact point. */
export function hasGeo<Node>(post: PostObjects<Node>): boolean {
  const { view, data } = post
  const geo = view.object(data, names.geo)
  return view.isPresent(geo) && (view.isPresent(view.id(geo, names.place_id)) || pointOf(post) !== undefined)
}

/**
 * Adds id, name and full name of the places. A repost has the place of its original too. Source: results of X's own
 * search for `place:Berlin`.
 */
export function addPlaceKeys<Node>(post: PostObjects<Node>, sink: KeySink<Node>): void {
  addNames(post, post.data, sink)
  addNames(post, post.original, sink)
}

/** Adds the country codes of the places. */
export function addCountryKeys<Node>(post: PostObjects<Node>, sink: KeySink<Node>): void {
  addCountry(post, post.data, sink)
  addCountry(post, post.original, sink)
}

function addNames<Node>(objects: PostObjects<Node>, post: Node, sink: KeySink<Node>): void {
  const { view, mode } = objects
  const id = placeIdOf(view, post)
  if (!view.isPresent(id)) return
  sink.addWords(id, "place")
  const place = view.included(names.places, id)
  const known = view.isPresent(place) ? undefined : earlierPlace(objects, id)
  for (const name of placeNames) {
    if (known === undefined) sink.addWords(view.string(place, name), "place")
    else sink.addText(keyOfWords(earlierView.text(earlierView.string(known, name)), mode), "place")
  }
}

function addCountry<Node>(objects: PostObjects<Node>, post: Node, sink: KeySink<Node>): void {
  const { view } = objects
  const id = placeIdOf(view, post)
  if (!view.isPresent(id)) return
  const place = view.included(names.places, id)
  if (view.isPresent(place)) return sink.addString(view.string(place, names.country_code), "place")
  const known = earlierPlace(objects, id)
  sink.addText(fold(earlierView.text(earlierView.string(known, names.country_code))), "place")
}

function placeIdOf<Node>(view: PostView<Node>, post: Node): Node {
  const geo = view.object(post, names.geo)
  return view.isPresent(geo) ? view.id(geo, names.place_id) : view.absent
}

/** The place, as an earlier post described it. */
function earlierPlace<Node>({ view, earlier }: PostObjects<Node>, id: Node): Members | undefined {
  return earlier?.placeOf(view.text(id))
}

function boxOf<Node>(view: PostView<Node>, place: Node): Box | undefined {
  return numbersOf(view, view.array(view.object(place, names.geo), names.bbox), 4) as Box | undefined
}

function pointOf<Node>({ view, data }: PostObjects<Node>): Point | undefined {
  const coordinates = view.object(view.object(data, names.geo), names.coordinates)
  return numbersOf(view, view.array(coordinates, names.coordinates), 2) as Point | undefined
}

/** So many numbers that a list begins with; undefined if it does not. */
function numbersOf<Node>(view: PostView<Node>, list: Node, count: number): readonly number[] | undefined {
  if (!view.isPresent(list)) return undefined
  const numbers: number[] = []
  for (let at = view.itemsBegin(list); at < view.itemsEnd(list) && numbers.length < count; at = view.itemAfter(at)) {
    const found = view.number(view.itemAt(list, at))
    if (found === undefined) return undefined
    numbers.push(found)
  }
  return numbers.length === count ? numbers : undefined
}
