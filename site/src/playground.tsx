/** The rule playground: a rule, posts, and which of them match and why. Everything is computed in the page. */
import type { Envelope } from "@sluice/api"
import { parseRule } from "@sluice/rules"
import { useDeferredValue, useId, useMemo, useState, type ReactNode } from "react"
import { Button } from "../../packages/console/src/components/button.tsx"
import { Choice } from "../../packages/console/src/components/choice.tsx"
import { CopyButton } from "../../packages/console/src/components/copy-button.tsx"
import { nounText } from "../../packages/console/src/components/counts.ts"
import { Field } from "../../packages/console/src/components/field.tsx"
import { PageHeader } from "../../packages/console/src/components/page-header.tsx"
import { Panel } from "../../packages/console/src/components/panel.tsx"
import { readEnvelopes } from "../../packages/console/src/components/rules/pasted-posts.ts"
import { RuleEditor } from "../../packages/console/src/components/rules/rule-editor.tsx"
import { ruleOptions } from "../../packages/console/src/components/rules/rule-options.ts"
import { RuleProblems } from "../../packages/console/src/components/rules/rule-problems.tsx"
import { needsServer, tryRule, type Verdict } from "../../packages/console/src/components/rules/try-rule.ts"
import {
  VerdictList,
  verdictKinds,
  type VerdictKind,
} from "../../packages/console/src/components/rules/verdict-list.tsx"
import styles from "./playground.module.css"
import { samplePosts, sampleState } from "./sample-posts.ts"
import type { Opened, SharedState } from "./shared-state.ts"
import { useLink, type StateLink } from "./use-link.ts"

/** The playground with the state of a link, or with the sample. */
export function Playground({ opened }: { readonly opened: Opened }): ReactNode {
  const [state, setState] = useState(opened.kind === "state" ? opened.state : sampleState)
  const link = useLink(state)
  const problemsId = useId()
  const setRule = (rule: string): void => setState((before) => ({ ...before, rule }))
  const setPosts = (posts: string): void => setState((before) => ({ ...before, posts }))
  const read = useMemo(() => readEnvelopes(state.posts), [state.posts])
  return (
    <>
      <PageHeader title="Rule playground" actions={<CopyLink link={link} />}>
        Write a rule and see which posts match, why, and why not. Rule and posts stay in this page, and in its link.
      </PageHeader>
      {opened.kind === "problem" && (
        <p className={styles["problem"]} role="alert">
          {opened.message} The sample is shown instead.
        </p>
      )}
      <Panel title="Rule" actions={<a href="./docs/rules.html">All operators</a>}>
        <div className={styles["rule"]}>
          <RuleEditor value={state.rule} onChange={setRule} label="Rule" describedBy={problemsId} mode="stream" />
          <RuleProblems id={problemsId} value={state.rule} onChange={setRule} mode="stream" />
        </div>
      </Panel>
      <Panel
        title="Posts"
        actions={
          <Button size="small" disabled={state.posts === samplePosts} onClick={() => setPosts(samplePosts)}>
            Sample posts
          </Button>
        }
      >
        <div className={styles["posts"]}>
          <Field
            label="Posts to test on"
            hint="One text per line, or JSON: envelopes, NDJSON, or a response of X."
            error={read.problem}
          >
            {(attributes) => (
              <textarea
                {...attributes}
                rows={6}
                spellCheck={false}
                value={state.posts}
                onChange={({ target }) => setPosts(target.value)}
              />
            )}
          </Field>
        </div>
      </Panel>
      <Verdicts state={state} envelopes={read.envelopes} />
    </>
  )
}

/** The button that copies the link. A link that would be too long is not made. */
function CopyLink({ link }: { readonly link: StateLink }): ReactNode {
  if (link.kind === "link") return <CopyButton text={link.url} what="link" label="Copy link" />
  if (link.kind === "tooLong") return <span className={styles["quiet"]}>These posts are too long for a link.</span>
  return (
    <Button size="small" disabled>
      Copy link
    </Button>
  )
}

/** A rule and posts that are tested together; a later state may already be in the editor. */
interface Trial {
  readonly rule: string
  readonly envelopes: readonly Envelope[]
}

function Verdicts({
  state,
  envelopes,
}: {
  readonly state: SharedState
  readonly envelopes: readonly Envelope[]
}): ReactNode {
  const [kind, setKind] = useState<VerdictKind>("all")
  const latest = useMemo((): Trial => ({ rule: state.rule, envelopes }), [state.rule, envelopes])
  const trial = useDeferredValue(latest)
  const tested = useMemo(() => testOf(trial), [trial])
  return (
    <Panel
      title="Verdicts"
      isFlush
      actions={
        tested.kind === "tested" && (
          <>
            <Choice label="Verdicts to show" options={verdictKinds} value={kind} onChange={setKind} />
            <CopyButton text={resultText(trial, tested.verdicts)} what="result" label="Copy result" />
          </>
        )
      }
    >
      {tested.kind === "untested" ? (
        <p className={styles["note"]} role="status">
          {tested.why}
        </p>
      ) : (
        <>
          <p className={styles["summary"]} role="status">
            <strong>{matchesIn(tested.verdicts).length}</strong> of {nounText(tested.verdicts.length, "post")} match
          </p>
          <VerdictList value={trial.rule} verdicts={tested.verdicts} kind={kind} areLinked={false} />
        </>
      )}
    </Panel>
  )
}

type Tested =
  | { readonly kind: "tested"; readonly verdicts: readonly Verdict[] }
  | { readonly kind: "untested"; readonly why: string }

/** Tries a rule on posts, or says why it cannot be tried. */
function testOf({ rule, envelopes }: Trial): Tested {
  if (rule.trim() === "") return { kind: "untested", why: "Write a rule above." }
  if (!parseRule(rule, ruleOptions.stream).ok) {
    return { kind: "untested", why: "Once the rule is valid, it is tested as you type." }
  }
  if (needsServer(rule)) return { kind: "untested", why: "A rule with embedding: needs a server with a model." }
  if (envelopes.length === 0) return { kind: "untested", why: "Paste posts above." }
  try {
    const verdicts = tryRule(rule, envelopes)
    if (verdicts !== undefined) return { kind: "tested", verdicts }
  } catch {
    // A server checks posts before it matches them. Here they are as they were pasted, and may have any members.
  }
  return { kind: "untested", why: "These posts cannot be tested: a server would reject the form of one of them." }
}

function matchesIn(verdicts: readonly Verdict[]): readonly Verdict[] {
  return verdicts.filter(({ kind }) => kind === "match")
}

/** The result as JSON, with the rule and the ids of the posts that match, for a report or a test. */
function resultText({ rule }: Trial, verdicts: readonly Verdict[]): string {
  const matching = matchesIn(verdicts).map(({ envelope }) => envelope.data.id)
  return JSON.stringify({ rule, tested: verdicts.length, matching })
}
