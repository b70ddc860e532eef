/** Sources of posts, for operators. Ours: X has none. */
import { Type, type Static } from "typebox"
import { ownPageSizes } from "../limits.ts"
import { exactly, Instant, PageMeta, pageSize, PaginationToken, queryOf } from "./common.ts"

const described = (description: string) => Type.Unsafe<string>({ ...Instant, description })
const count = (description: string) => Type.Integer({ description })

/** Path parameters of routes about one source. */
export const SourceParams = exactly({ name: Type.String({ pattern: "^[a-z0-9][a-z0-9_-]{0,39}$" }) })

/** A stretch of time of which a source could not give everything. */
export const SourceGap = Type.Object({
  from: Type.Optional(Instant),
  to: Type.Optional(Instant),
  reason: Type.String({ description: "A sentence." }),
  found_at: Instant,
})
export type SourceGap = Static<typeof SourceGap>

/** A source and its state. Rate, counts and errors are those of the process that responds, since its start. */
export const Source = Type.Object({
  name: Type.String(),
  type: Type.String({ description: "As the configuration has it, such as bluesky." }),
  activity: Type.String({
    enum: ["running", "connecting", "paused", "elsewhere"],
    description: "`connecting`: it tries to. `elsewhere`: another process of this database drives it.",
  }),
  since: Type.Optional(described("Since when this process takes records of the source, or since when it takes none.")),
  connected_to: Type.Optional(Type.String({ description: "The other side, without credentials." })),
  started_at: described("When this process started: its counts begin there."),
  last_record_at: Type.Optional(described("When this process last finished a record.")),
  records_per_second: Type.Number({ description: "Over the last minute." }),
  lag_ms: Type.Optional(count("How much later than at the source the last record was finished.")),
  pending: Type.Optional(count("Records that wait at the source, as far as it says.")),
  in_flight: Type.Optional(count("Records that this process has taken and not finished.")),
  unacknowledged: Type.Optional(
    count("Records that the broker has sent and that are not finished, over all processes."),
  ),
  position: Type.Optional(Type.String({ description: "Text of the source: everything up to it is stored." })),
  position_saved_at: Type.Optional(Instant),
  can_rewind: Type.Boolean({ description: "To a time." }),
  counts: Type.Object({
    accepted: count("New posts."),
    duplicates: count("Posts that were stored already."),
    deleted: count("Deletions."),
    ignored: count("Records that hold nothing to store."),
    rejected: count("Records that became dead letters."),
    returned: count("Messages that went back to the broker."),
    redelivered: count("Messages that came again."),
    gaps: count("Gaps that were found."),
  }),
  dead_letters: count("Records that are kept as dead letters now. Those of a broker are with the broker."),
  last_dead_letter: Type.Optional(
    Type.Object({
      title: Type.String(),
      detail: Type.String(),
      place: Type.Optional(Type.String({ description: "Where the record is at the source." })),
      at: Instant,
    }),
  ),
  last_error: Type.Optional(
    Type.Object(
      { message: Type.String(), advice: Type.Optional(Type.String({ description: "What to do." })), at: Instant },
      { description: "The last failure, also when all has been well since." },
    ),
  ),
  notices: Type.Array(
    Type.Object({
      message: Type.String(),
      advice: Type.Optional(Type.String({ description: "What to do." })),
      since: Instant,
    }),
    { description: "What holds now and is no failure, such as what an instance does not show to this account." },
  ),
  gaps: Type.Array(SourceGap, { description: "The latest first." }),
})
export type Source = Static<typeof Source>

/** A source, as it is now. */
export const SourceBody = Type.Object({ data: Source })
export type SourceBody = Static<typeof SourceBody>

/** All sources, in the order of the configuration. */
export const SourcesBody = Type.Object({
  data: Type.Array(Source),
  meta: Type.Object({ result_count: Type.Integer() }),
})
export type SourcesBody = Static<typeof SourcesBody>

/** Body of `POST /sluice/v1/sources/:name/rewind`. */
export const RewindSourceBody = exactly(
  {
    to: Type.Optional(described("The source begins again with what it had at this time. Not in the future.")),
    position: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2_000,
        description: "The source begins again behind this position, in place of `to`. For an outbox: the id of a row.",
      }),
    ),
  },
  { minProperties: 1 },
)
export type RewindSourceBody = Static<typeof RewindSourceBody>

/** Query of a list of dead letters of a source. */
export const SourceDeadLettersQuery = queryOf({
  max_results: pageSize(ownPageSizes.sourceDeadLetters),
  pagination_token: PaginationToken,
})
export type SourceDeadLettersQuery = Static<typeof SourceDeadLettersQuery>

const uuidPattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"

const LetterId = Type.String({ pattern: uuidPattern, description: "A UUID of version 7." })

/** A record that cannot become a post. */
export const SourceDeadLetter = Type.Object({
  id: LetterId,
  at: Instant,
  title: Type.String(),
  detail: Type.String({ description: "Where and what is wrong." }),
  bytes: Type.Integer({ description: "Bytes that are kept of the record: at most its first 64 KiB." }),
  encoding: Type.String({ enum: ["utf-8", "base64"], description: "`base64`: the record is not UTF-8." }),
  record: Type.String({ description: "What is kept of the record, as it came." }),
})
export type SourceDeadLetter = Static<typeof SourceDeadLetter>

/** A page of dead letters of a source, newest first. */
export const SourceDeadLettersBody = Type.Object({ data: Type.Array(SourceDeadLetter), meta: PageMeta })
export type SourceDeadLettersBody = Static<typeof SourceDeadLettersBody>

/** Most dead letters of one request. Ours. */
const lettersMax = 1_000

/** Body of `POST …/dead_letters/repeat` and `…/discard`. Ids that are not there do nothing. */
export const SourceDeadLetterIdsBody = exactly({
  ids: Type.Array(LetterId, { minItems: 1, maxItems: lettersMax, uniqueItems: true }),
})
export type SourceDeadLetterIdsBody = Static<typeof SourceDeadLetterIdsBody>

/** The result of converting dead letters again. */
export const RepeatedSourceDeadLettersBody = Type.Object({
  data: Type.Object({
    repeated: count(
      "Dead letters that were converted again, and are gone. Those of which only the beginning is kept stay.",
    ),
    rejected: count("Those of them that became dead letters anew, with other ids."),
  }),
})
export type RepeatedSourceDeadLettersBody = Static<typeof RepeatedSourceDeadLettersBody>

/** The result of discarding dead letters. */
export const DiscardedSourceDeadLettersBody = Type.Object({ data: Type.Object({ discarded: Type.Integer() }) })
export type DiscardedSourceDeadLettersBody = Static<typeof DiscardedSourceDeadLettersBody>
