/** `npm run build:walk` compiles these files into one module, which works on one memory. */

export { addName } from "./json-names"
export { writeUnits } from "./json-units"
export { walk } from "./json-walk"
export {
  absentHashes,
  absentHashesBits,
  classedMax,
  classes,
  counts,
  dataMembers,
  foldedUnits,
  line,
  lineBytesMax,
  links,
  linksMax,
  linkTexts,
  linkTextsMax,
  memoryEnd,
  nodes,
  passages,
  passagesMax,
  positions,
  positionsMax,
  presentNames,
  queries,
  queriesMax,
  termUnits,
  termUnitsMax,
  tokens,
  tokensMax,
  units,
  unitsMax,
} from "./memory"
export { addDisplayed, addLink, addLinkText, addListedLinks, addPages, addTargets } from "./post-links"
export { included, member } from "./post-nodes"
export { addMarks, addNames, addPairs, addStringKey, addText, addTextOf, addWords } from "./post-terms"
export { addKey, addPassage } from "./term-queries"
export { addTokens } from "./unit-tokens"
