/** Pseudo-random choices, the same for the same seed. Source of the generator: Tommy Ettinger, "mulberry32". */
export class Draw {
  #state: number

  /** `part` distinguishes the draws of one seed, so that the millionth input can be made without the others. */
  constructor(seed: number, part = 0) {
    const mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(part + 1, 0xc2b2ae35)
    this.#state = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d) >>> 0
  }

  /** A whole number from 0 up to, but not, `limit`; 0 when that is 0. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }

  isOneIn(count: number): boolean {
    return this.below(count) === 0
  }

  /** An item of the list, which must not be empty. */
  oneOf<Item>(list: readonly Item[]): Item {
    return list[this.below(list.length)] as Item
  }
}
