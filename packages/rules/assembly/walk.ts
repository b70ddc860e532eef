/** What `npm run build:walk` compiles into one module: all of it works on one memory. */

export {
  addName,
  dataMembers,
  line,
  lineBytesMax,
  nodes,
  presentNames,
  units,
  unitsMax,
  walk,
  writeUnits,
} from "./json-walk"
export {
  addAsciiTokens,
  addFoldedKey,
  addKey,
  addKeyOfTokens,
  addPassage,
  counts,
  memoryEnd,
  passages,
  passagesMax,
  positions,
  positionsMax,
  queries,
  queriesMax,
  termUnits,
  termUnitsMax,
  tokens,
  tokensMax,
} from "./term-texts"
