/** Texts in UTF-16 units as strings. */

/** Maximum arguments of a call. */
const sliceMax = 4096
const shortMax = 8

/** The units as a string. */
export function textOfUnits(units: Uint16Array, begin: number, end: number): string {
  let text = ""
  // Spread over the arguments of a call a short text takes several times as long.
  if (end - begin <= shortMax) {
    for (let at = begin; at < end; at++) text += String.fromCharCode(units[at] ?? 0)
    return text
  }
  for (let at = begin; at < end; at += sliceMax)
    text += String.fromCharCode.apply(null, units.subarray(at, Math.min(end, at + sliceMax)) as unknown as number[])
  return text
}
