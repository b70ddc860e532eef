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

  /** Whether it is time, for one who has nothing else to do. */
  isDue(nowMs: number): boolean {
    return this.#deleted !== undefined && (this.isQuiet(nowMs) || this.isLate(nowMs))
  }

  /** Whether no deletion has come for some time. */
  isQuiet(nowMs: number): boolean {
    return this.#deleted === undefined || nowMs - this.#deleted.lastMs >= quietMs
  }

  /** Whether it is time, also for one who has other work. */
  isLate(nowMs: number): boolean {
    return this.#deleted !== undefined && nowMs - this.#deleted.firstMs >= eraseMsMax
  }

  /**
   * Clears the files by `clear`, which returns false when it is to be called again. Its last call clears them of all that
   * was deleted before this call; a deletion meanwhile needs another time.
   */
  async erase(clear: () => Promise<boolean>): Promise<void> {
    const before = this.#deleted
    this.#deleted = undefined
    let isClear = false
    try {
      isClear = await clear()
    } finally {
      if (!isClear && before !== undefined) {
        const { lastMs } = this.#deleted ?? before
        this.#deleted = { firstMs: before.firstMs, lastMs }
      }
    }
  }
}
