/** The members of objects by name, for `src/walk/tape-view.ts` and for links. Node 0 is the absent one. */

import * as layout from "./layout"
import { setCount } from "./counts"
import { dataNode } from "./json-walk"
import { dataMembers, line, nodes } from "./memory"

function nodeAt(node: i32): usize {
  return nodes + (usize(node) << layout.nodeShift)
}

function kindOf(node: i32): i32 {
  return load<i32>(nodeAt(node), layout.nodeKindAndName) & layout.kindMask
}

export function beginOf(node: i32): i32 {
  return load<i32>(nodeAt(node), layout.nodeBegin)
}

export function endOf(node: i32): i32 {
  return load<i32>(nodeAt(node), layout.nodeEnd)
}

/** The node after the value and all that it holds. */
export function nextOf(node: i32): i32 {
  return load<i32>(nodeAt(node), layout.nodeNext)
}

/** The node after the last item of the array, of which the first is `node + 1`. For node 0 there are none. */
export function itemsEnd(node: i32): i32 {
  return node === 0 ? 0 : nextOf(node)
}

/** The member of an object; 0 if there is none, or if the value is no object. */
export function member(node: i32, name: i32): i32 {
  if (node === 0) return 0
  if (node === dataNode) return load<i32>(dataMembers + (usize(name) << 2))
  if (kindOf(node) !== layout.kindObject) return 0
  const end = nodeAt(nextOf(node))
  for (let at = nodeAt(node + 1); at < end; at = nodeAt(load<i32>(at, layout.nodeNext)))
    if (load<i32>(at, layout.nodeKindAndName) >> layout.nameShift === name) return i32((at - nodes) >> layout.nodeShift)
  return 0
}

/** The member, as far as it is an array. */
export function array(node: i32, name: i32): i32 {
  const found = member(node, name)
  return found !== 0 && kindOf(found) === layout.kindArray ? found : 0
}

/** Likewise a string. */
export function string(node: i32, name: i32): i32 {
  const found = member(node, name)
  return found !== 0 && kindOf(found) >= layout.kindPlain ? found : 0
}

/** Likewise a string that is not empty. */
export function filled(node: i32, name: i32): i32 {
  const found = string(node, name)
  return found !== 0 && endOf(found) > beginOf(found) ? found : 0
}

/** Likewise a string that is not empty, of ASCII and without escapes: any other makes the post uncertain. */
export function id(node: i32, name: i32): i32 {
  const found = filled(node, name)
  if (found !== 0 && kindOf(found) !== layout.kindPlain) setCount(layout.countedIsUncertain, 1)
  return found
}

/** The first object of a list of `includes` that has the id; 0 if there is none or no id. */
export function included(includes: i32, list: i32, wanted: i32): i32 {
  const items = wanted === 0 ? 0 : array(includes, list)
  const end = itemsEnd(items)
  for (let item = items + 1; item < end; item = nextOf(item)) {
    const its = id(item, layout.nameId)
    if (its !== 0 && areSame(its, wanted)) return item
  }
  return 0
}

/** True if the two strings have the same bytes. */
function areSame(node: i32, other: i32): bool {
  const length = endOf(node) - beginOf(node)
  if (endOf(other) - beginOf(other) !== length) return false
  return memory.compare(line + usize(beginOf(node)), line + usize(beginOf(other)), usize(length)) === 0
}
