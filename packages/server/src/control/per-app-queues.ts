/**
 * Work that runs one piece at a time for an app. Its further requests wait, first come, first served; the work of other
 * apps runs at the same time.
 */
import type { AppId } from "../model/ids.ts"
import { tooManyRequests } from "../model/problem.ts"

/** The queues of all apps. An app without requests has none. */
export class PerAppQueues {
  readonly #unfinishedMax: number
  readonly #what: string
  readonly #queues = new Map<AppId, { unfinished: number; last: Promise<unknown> }>()

  /** At most `unfinishedMax` for an app, the running one included. `what` names the work, in the plural. */
  constructor({ unfinishedMax, what }: { readonly unfinishedMax: number; readonly what: string }) {
    this.#unfinishedMax = unfinishedMax
    this.#what = what
  }

  /** Runs `work` after the earlier work of the app, and returns its result. Throws 429 when too much waits. */
  async run<Result>(appId: AppId, work: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(appId) ?? { unfinished: 0, last: Promise.resolve() }
    if (queue.unfinished >= this.#unfinishedMax) {
      throw tooManyRequests(
        `The app has ${queue.unfinished} ${this.#what} in progress or waiting, the most. Wait for their responses.`,
      )
    }
    this.#queues.set(appId, queue)
    queue.unfinished += 1
    const result = queue.last.then(work)
    queue.last = result.catch(() => undefined)
    try {
      return await result
    } finally {
      queue.unfinished -= 1
      if (queue.unfinished === 0) this.#queues.delete(appId)
    }
  }
}
