import type { Clock } from "../runtime/clock.ts"
import type { MovableClock } from "../runtime/movable-clock.ts"
import type { ServedStore, StoreEngine } from "../store/engine.ts"
import type { Store } from "../store/store.ts"

/** A clock, and what of a `MovableClock` a store takes part in. */
type GivenClock = Clock & Partial<Pick<MovableClock, "epoch" | "counted">>

/** An engine whose store is served at the time of a clock. A clock that is moved waits for the calls of the store. */
export function engineAt(clock: GivenClock, engine: StoreEngine): StoreEngine {
  const serve: StoreEngine["serve"] = async (settings) => {
    const served = await engine.serve(settings)
    const store = clock.counted === undefined ? served.store : countedCalls(served.store, clock)
    const grantAccess: ServedStore["grantAccess"] = (use) => ({
      ...served.grantAccess(use),
      ...(clock.epoch !== undefined && { epoch: clock.epoch }),
    })
    return Object.create(served, {
      clock: { value: clock },
      store: { value: store },
      grantAccess: { value: grantAccess },
    }) as ServedStore
  }
  return Object.create(engine, { serve: { value: serve } }) as StoreEngine
}

/** The same store, whose calls the clock waits for. */
function countedCalls(store: Store, clock: GivenClock): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== "function") return member
      return (...values: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(member, target, values)
        return result instanceof Promise ? clock.counted?.(result) : result
      }
    },
  })
}
