/** When two operators mean the same. */

import { zones, type Operator } from "./rule.ts"

/** A text that is equal for operators with the same meaning, and for no others. */
export function identityOf(operator: Operator): string {
  switch (operator.kind) {
    case "words":
    case "near": {
      const among = operator.kind === "words" ? zones[operator.name] : operator.distance
      const words = operator.words.map(({ text, glued }) => [text, glued])
      return JSON.stringify([operator.kind, among, ...words])
    }
    case "key":
      return JSON.stringify([operator.kind, operator.name, operator.key])
    case "contains":
      return JSON.stringify([operator.kind, operator.text])
    case "count":
      return `${operator.kind} ${operator.name} ${operator.least} ${operator.most}`
    case "area":
      return JSON.stringify([operator.kind, operator.area])
    case "sample":
      return `${operator.kind} ${operator.percent}`
    case "embedding":
      return JSON.stringify([operator.kind, operator.value, operator.threshold])
  }
}
