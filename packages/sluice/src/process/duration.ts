const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The ms of a time such as `200ms`, `1.5s`, `10m`, `25h` or `7d`; `undefined` for a text of another form. */
export function durationMs(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,6}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? []
  return amount === undefined ? undefined : Math.round(Number(amount) * (unitsMs[unit ?? ""] ?? Number.NaN))
}
