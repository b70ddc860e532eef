/** The seeded faults, by the promise that each breaks. */
import type { Mutant } from "./mutant.ts"
import { apart, clients, lookUps, pages } from "./seeded/responding.ts"
import { backfills, cursors, deliveryThreads, threadCalls, retries, deadLetters } from "./seeded/delivering.ts"
import { deletions } from "./seeded/deleting.ts"
import { ledger } from "./seeded/ledger.ts"
import { matching } from "./seeded/matching.ts"
import { search } from "./seeded/search.ts"
import { cluster, handedOn } from "./seeded/sharing.ts"
import { sourcesOfPosts } from "./seeded/sources.ts"
import { durability, backups, log, retention } from "./seeded/storing.ts"
import { signatures, challenges, guard, sessions, trouble } from "./seeded/trusting.ts"

/** All of them. */
export const mutants: readonly Mutant[] = [
  ...durability,
  ...backups,
  ...log,
  ...cursors,
  ...deliveryThreads,
  ...threadCalls,
  ...retries,
  ...deadLetters,
  ...backfills,
  ...retention,
  ...signatures,
  ...challenges,
  ...guard,
  ...apart,
  ...clients,
  ...pages,
  ...lookUps,
  ...search,
  ...matching,
  ...trouble,
  ...sessions,
  ...ledger,
  ...deletions,
  ...cluster,
  ...handedOn,
  ...sourcesOfPosts,
]
