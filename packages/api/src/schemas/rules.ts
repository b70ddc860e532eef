/** Rules, their cost, and the test of a rule. */
import { Type, type Static } from "typebox"
import { rulesCountFields } from "../fields.ts"
import { ownPageSizes, pageSizes, ruleChangesMax, ruleTagCharactersMax } from "../limits.ts"
import {
  Id,
  Instant,
  Errors,
  listOf,
  PageMeta,
  PaginationToken,
  pageSize,
  exactly,
  queryOf,
  OpenPost,
} from "./common.ts"

/** A rule of an app. */
export const Rule = Type.Object({
  id: Id,
  value: Type.String(),
  tag: Type.Optional(Type.String()),
})
export type Rule = Static<typeof Rule>

/** `data` is absent when the app has no rules at all, as X sends it: its own samples branch on that. */
export const RulesBody = Type.Object({
  data: Type.Optional(Type.Array(Rule)),
  meta: Type.Object({
    sent: Instant,
    result_count: Type.Integer(),
    next_token: Type.Optional(Type.String()),
    previous_token: Type.Optional(Type.String()),
  }),
  errors: Errors,
})
export type RulesBody = Static<typeof RulesBody>

/** An id that may come as a JSON integer, whose digits are taken as they stand: a client for Go sends rule ids so. */
const IdOrInteger = Type.String({ ...Id, "x-takes-integers": true })

/** Body of `POST …/rules`: exactly one of `add` and `delete`. */
export const ChangeRulesBody = Type.Object(
  {
    add: Type.Optional(
      Type.Array(exactly({ value: Type.String(), tag: Type.Optional(Type.String()) }), {
        minItems: 1,
        maxItems: ruleChangesMax,
      }),
    ),
    delete: Type.Optional(
      exactly({
        ids: Type.Optional(Type.Array(IdOrInteger, { maxItems: ruleChangesMax })),
        values: Type.Optional(Type.Array(Type.String(), { maxItems: ruleChangesMax })),
      }),
    ),
  },
  { additionalProperties: false, "x-optional": true, description: "May be left out with delete_all." },
)
export type ChangeRulesBody = Static<typeof ChangeRulesBody>

/** The response to a change of rules. `data` holds the rules that were added. */
export const RulesChangedBody = Type.Object({
  data: Type.Optional(Type.Array(Rule)),
  meta: Type.Object({
    sent: Instant,
    summary: Type.Unsafe<Record<string, number>>({ type: "object", additionalProperties: { type: "integer" } }),
  }),
  errors: Errors,
})
export type RulesChangedBody = Static<typeof RulesChangedBody>

/** The number of rules, and the most that there may be. */
export const RuleCountsBody = Type.Object({
  data: Type.Object({
    all_project_client_apps: Type.Array(Type.Object({ client_app_id: Id, rule_count: Type.Integer() })),
    cap_per_client_app: Type.String(),
    cap_per_project: Type.String(),
    client_app_rules_count: Type.Object({ client_app_id: Id, rule_count: Type.Integer() }),
    project_rules_count: Type.String(),
  }),
})
export type RuleCountsBody = Static<typeof RuleCountsBody>

/** The cost of an app's rules. */
export const RuleCostBody = Type.Object({
  data: Type.Object({
    cost: Type.Integer({ description: "Steps that the app's rules cost together." }),
    cap_per_client_app: Type.Integer({
      description: "Most steps that the rules may cost together, and may take for one post.",
    }),
    skipped: Type.Object(
      {
        posts: Type.Integer({ description: "Posts for which some rules were skipped." }),
        rules: Type.Integer({ description: "Rules that were skipped, over these posts." }),
        last_post_id: Type.Optional(Id),
      },
      {
        description: "Rules skipped since the server started, because the app had used all its steps for a post.",
      },
    ),
  }),
})
export type RuleCostBody = Static<typeof RuleCostBody>

/** Query of a list of rules. */
export const RulesQuery = queryOf({
  ids: Type.Optional(
    Type.Array(Id, { minItems: 1, maxItems: 1000, description: "Only the rules with these ids. Comma-separated." }),
  ),
  max_results: pageSize(pageSizes.rules),
  pagination_token: PaginationToken,
})
export type RulesQuery = Static<typeof RulesQuery>

/** Query of a change of rules. */
export const ChangeRulesQuery = queryOf({
  dry_run: Type.Optional(Type.Boolean({ description: "Validates and responds as usual, but changes nothing." })),
  delete_all: Type.Optional(Type.Boolean({ description: "Delete every rule of the app." })),
})
export type ChangeRulesQuery = Static<typeof ChangeRulesQuery>

/** Members of the rule counts to show. Accepted, but all are always shown. */
export const RuleCountsQuery = queryOf({ "rules_count.fields": listOf(rulesCountFields) })
export type RuleCountsQuery = Static<typeof RuleCountsQuery>

/** Body of `POST /sluice/v1/rules/test`: a rule, and posts, a number of recent ones, or a time since which posts are stored. */
export const TestRuleBody = exactly({
  value: Type.String(),
  posts: Type.Optional(Type.Array(Type.Object({ data: OpenPost }, { additionalProperties: true }), { maxItems: 1000 })),
  recent: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: "So many of the newest stored posts." }),
  ),
  since: Type.Optional(
    Type.Unsafe<string>({
      ...Instant,
      description: "The stored posts since this time, the newest first, at most 20,000 in one request.",
    }),
  ),
  until_id: Type.Optional(
    Type.Unsafe<string>({
      ...Id,
      description: "With since: only posts before this one, to go on after `meta.stopped_at`.",
    }),
  ),
  mode: Type.Optional(
    Type.String({
      enum: ["stream", "search"],
      description: "Use of the rule: for the stream (the default), or for a search of stored posts.",
    }),
  ),
  explain: Type.Optional(
    Type.Boolean({ description: "Also lists, for each post that does not match, the operators that failed." }),
  ),
})
export type TestRuleBody = Static<typeof TestRuleBody>

/** An operator of a rule that holds for a post: its place in the text that `where` names, in code points, `end` exclusive. */
const Span = Type.Object({
  operator: Type.String(),
  where: Type.String(),
  start: Type.Optional(Type.Integer()),
  end: Type.Optional(Type.Integer()),
})

/** An operator that kept a post from matching: its place in the rule's text, in UTF-16 units from 0. */
const FailedOperator = Type.Object({
  operator: Type.String(),
  start: Type.Integer(),
  end: Type.Integer({ description: "End of the operator, exclusive." }),
  negated: Type.Boolean({ description: "True if the rule negates the operator, and it holds." }),
})

/** A clause of a rule that no post of the configured sources fulfils. */
const NeverMatchingClause = Type.Object({
  clause: Type.String(),
  operator: Type.String(),
  sources: Type.Array(Type.String(), { description: "All sources that are configured." }),
  reason: Type.String({ description: "One sentence or more." }),
})

const neverMatching = Type.Optional(
  Type.Array(NeverMatchingClause, {
    description:
      "Clauses that no post of the configured sources fulfils; absent without any, and while a source may send any post. " +
      "Posts that programs send may fulfil them.",
  }),
)

/** The posts that a rule matches, with reasons. */
export const RuleTestedBody = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Id,
      spans: Type.Array(Span, { description: "At most 20 for each operator, and 100 for each post." }),
    }),
  ),
  unmatched: Type.Optional(
    Type.Array(Type.Object({ id: Id, failed: Type.Array(FailedOperator, { description: "At most 100 operators." }) }), {
      description:
        "With explain: the posts that do not match, and the operators that kept them from matching. A post would match " +
        "if each of its operators had the opposite result.",
    }),
  ),
  never_matching: neverMatching,
  meta: Type.Object({
    tested: Type.Integer(),
    matched: Type.Integer({ description: "With since, `data` has the newest hundred of them." }),
    cost: Type.Integer({ description: "Steps that the rule costs the matcher." }),
    from: Type.Optional(
      Type.Unsafe<string>({
        ...Instant,
        description: "When the oldest of the stored posts that were tested was made.",
      }),
    ),
    to: Type.Optional(Type.Unsafe<string>({ ...Instant, description: "When the newest of them was made." })),
    stopped_at: Type.Optional(
      Type.Unsafe<string>({
        ...Id,
        description:
          "With since: the last post that was tested, while older ones were not. Send it as `until_id` to go on there.",
      }),
    ),
    share: Type.Number({ description: "matched / tested, 0 to 1; 0 when nothing was tested." }),
    estimated_per_day: Type.Optional(
      Type.Number({
        description: "Matches each day, at the rate of the stored posts that were tested. Three significant digits.",
      }),
    ),
  }),
  warnings: Type.Array(
    Type.Object({
      message: Type.String(),
      part: Type.String({ description: "The part of the rule that causes the warning." }),
    }),
    { description: "Warnings about valid but probably unintended parts of the rule. Usually empty." },
  ),
})
export type RuleTestedBody = Static<typeof RuleTestedBody>

/** A rule with its statistics. */
export const RuleDetail = Type.Object({
  never_matching: neverMatching,
  id: Id,
  value: Type.String(),
  tag: Type.Optional(Type.String()),
  created_at: Instant,
  matched: Type.Integer({
    description: "Posts that the rule has matched since it was added. A crash may lose the last seconds.",
  }),
  last_matched_at: Type.Optional(Instant),
})
export type RuleDetail = Static<typeof RuleDetail>

/** A page of rules, newest first. */
export const RuleDetailsBody = Type.Object({ data: Type.Array(RuleDetail), meta: PageMeta })
export type RuleDetailsBody = Static<typeof RuleDetailsBody>

/** Query of a list of rules. */
export const RuleDetailsQuery = queryOf({
  query: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 512,
      description:
        "Only rules whose value or tag contains this text, ignoring case, or whose id is this text. A page of a search may " +
        "be short or empty although more rules follow: only the absence of next_token means the end.",
    }),
  ),
  max_results: pageSize(ownPageSizes.ruleDetails),
  pagination_token: PaginationToken,
})
export type RuleDetailsQuery = Static<typeof RuleDetailsQuery>

/** Body of `PATCH /sluice/v1/rules/:rule_id`. */
export const ChangeRuleTagBody = exactly({
  tag: Type.String({ maxLength: ruleTagCharactersMax, description: "The new tag; empty removes it." }),
})
export type ChangeRuleTagBody = Static<typeof ChangeRuleTagBody>

/** A rule with its new tag. */
export const RuleDetailBody = Type.Object({ data: RuleDetail })
export type RuleDetailBody = Static<typeof RuleDetailBody>

/** Path parameters of routes about one rule. */
export const RuleParams = exactly({ rule_id: Id })
