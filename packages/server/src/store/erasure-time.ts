/** For so long no deletion has come when files are cleared of what was deleted, and so long at most that waits. Ours. */
const quietMs = 1_000
const eraseMsMax = 30_000

/** When files are to be cleared of what was deleted: together, since each time costs much more than a deletion. */
export class ErasureTime {
  /** When something was deleted that the files may hold, the first and the last time. */
  #deleted: { readonly firstMs: number; readonly lastMs: number } | undefined

  noteDeleted(nowMs: number): void {
    this.#deleted = { firstMs: this.#deleted?.firstMs ?? nowMs, lastMs: nowMs }
  }

  isDue(nowMs: number): boolean {
    if (this.#deleted === undefined) return false
    const { firstMs, lastMs } = this.#deleted
    return nowMs - lastMs >= quietMs || nowMs - firstMs >= eraseMsMax
  }

  /** Clears the files by `clear`, which returns false when it is to be called again. A deletion meanwhile needs another time. */
  async erase(clear: () => Promise<boolean>): Promise<void> {
    const before = this.#deleted
    if ((await clear()) && this.#deleted === before) this.#deleted = undefined
  }
}
