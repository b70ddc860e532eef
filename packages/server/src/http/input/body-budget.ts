/**
 * Decides how many bytes of bodies the server holds in memory, over all connections.
 *
 *     a body grows ─► beyond its caller's share? ── yes ─► the caller's oldest unfinished body is refused
 *                 └─► beyond the bound of all? ── yes ─► so is the oldest one of the caller who holds most
 *
 * A body counts until the response to its request is sent, since what was made of it is held until then. A body that has
 * arrived whole is never refused. All requests without a valid token are one caller, before and after the token is checked.
 */

/** Most bytes of bodies that are held. Ours: a tenth of the memory that a server may have under attack. */
const bytesMax = 64 * 1024 * 1024

/** Most bytes of one caller's bodies. Ours: sixteen of the largest. */
const shareMax = 16 * 1024 * 1024

/** A body while it is held. */
export interface HeldBody {
  /** Sets the bytes that it takes now. It may be refused within the call. */
  resize(bytes: number): void
  /** It has arrived whole, and is refused no more. */
  complete(): void
  /** Gives its bytes back, once. */
  release(): void
}

interface UnfinishedBody {
  readonly bytes: () => number
  readonly refuse: () => void
}

interface Caller {
  bytes: number
  unfinishedBytes: number
  /** Bodies that have not arrived whole, the oldest first. */
  readonly unfinished: Map<HeldBody, UnfinishedBody>
  /** Bodies of either kind. */
  bodies: number
}

/** The bodies of all connections. */
export class BodyBudget {
  readonly #bounds: { readonly bytesMax: number; readonly shareMax: number }
  readonly #callers = new Map<string, Caller>()
  #bytes = 0

  constructor(bounds: { readonly bytesMax: number; readonly shareMax: number } = { bytesMax, shareMax }) {
    this.#bounds = bounds
  }

  /** Bytes that are held now, by all callers. */
  get bytes(): number {
    return this.#bytes
  }

  /** Begins a body of a caller. `refuse` is called at most once; the body holds nothing from then on. */
  open(name: string, refuse: () => void): HeldBody {
    const caller = this.#callers.get(name) ?? { bytes: 0, unfinishedBytes: 0, unfinished: new Map(), bodies: 0 }
    this.#callers.set(name, caller)
    caller.bodies += 1
    let held = 0
    let isReleased = false
    const set = (bytes: number): void => {
      caller.bytes += bytes - held
      if (caller.unfinished.has(body)) caller.unfinishedBytes += bytes - held
      this.#bytes += bytes - held
      held = bytes
    }
    const release = (): void => {
      if (isReleased) return
      isReleased = true
      set(0)
      caller.unfinished.delete(body)
      caller.bodies -= 1
      if (caller.bodies === 0) this.#callers.delete(name)
    }
    const body: HeldBody = {
      resize: (bytes) => {
        if (isReleased) return
        set(bytes)
        this.#makeRoom(caller)
      },
      complete() {
        if (caller.unfinished.delete(body)) caller.unfinishedBytes -= held
      },
      release,
    }
    caller.unfinished.set(body, {
      bytes: () => held,
      refuse() {
        release()
        refuse()
      },
    })
    return body
  }

  #makeRoom(caller: Caller): void {
    while (caller.bytes > this.#bounds.shareMax && refuseOldest(caller));
    while (this.#bytes > this.#bounds.bytesMax && refuseOldest(this.#greediest()));
  }

  /** The caller who holds most bytes, among those with an unfinished body. */
  #greediest(): Caller | undefined {
    let most: Caller | undefined
    for (const caller of this.#callers.values()) {
      if (caller.unfinishedBytes > 0 && (most === undefined || caller.bytes > most.bytes)) most = caller
    }
    return most
  }
}

/** Refuses the oldest body that holds anything. Returns whether there was one. */
function refuseOldest(caller: Caller | undefined): boolean {
  for (const { bytes, refuse } of caller?.unfinished.values() ?? []) {
    if (bytes() === 0) continue
    refuse()
    return true
  }
  return false
}
