/**
 * The same rules in PostgreSQL, in its usual form: a row for each, with its words as a `tsquery` and the rarest word
 * that it requires in a column with a b-tree. A post selects the rows whose word it has, and of these the rows whose
 * query matches.
 *
 * PostgreSQL gets the tokens of the posts and queries itself, in PL/pgSQL, so that its time includes no connection and
 * no parsing. The rules consist of keywords alone: PostgreSQL gets only the tokens of a post.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { parseRule, readPost, RuleMatcher } from "../packages/rules/src/index.ts"
import type { PostFacts, Rule, RuleEnvelope } from "../packages/rules/src/index.ts"
import { Envelopes } from "./envelopes.ts"
import { figure, median, type Figure } from "./figure.ts"
import { environment, newDatabase, postgresMissing, psql } from "./psql.ts"
import { inTurn, warmUp } from "./rounds.ts"
import { keywordRuleTexts, type RuleMix } from "./rule-mix.ts"
import { mixAbout, usual } from "./rules-about.ts"

const postCount = 2000
const rounds = 3
const warmUpSeconds = 3

/** Prints a figure for each number of rules; without PostgreSQL prints the reason. */
export async function measurePostgres(counts: readonly number[], print: (figure: Figure) => void): Promise<void> {
  const missing = await postgresMissing()
  if (missing !== undefined) {
    process.stderr.write(`${missing}; it is left out\n`)
    return
  }
  await using created = await newDatabase()
  const { name: database } = created
  const envelopes = Envelopes.read()
  const mix = mixAbout(envelopes, usual)
  const step = Math.floor(envelopes.count / postCount)
  const posts = Array.from(
    { length: postCount },
    (_, index) => JSON.parse(envelopes.text(index * step)) as RuleEnvelope,
  )
  await loadPosts(database, posts)
  for (const count of counts) print(await measure(database, { mix, count, posts }))
}

type Measured = {
  readonly mix: RuleMix
  readonly count: number
  readonly posts: readonly RuleEnvelope[]
}

async function measure(database: string, { mix, count, posts }: Measured): Promise<Figure> {
  const matcher = new RuleMatcher()
  await loadRules(
    database,
    wordRules(mix, count, (rule) => matcher.add(rule)),
  )
  let matches = 0
  for (const post of posts) matches += matcher.match(readPost(post)).length
  const work = (): number => {
    for (const post of posts) matcher.match(readPost(post))
    return posts.length
  }
  const passes = (await psql(database, "SET jit = off", ...Array(rounds + 1).fill("SELECT one_pass()")))
    .trim()
    .split("\n")
    .map((line) => line.split(" ").map(Number))
  if (passes.some(([, found]) => found !== matches))
    throw new Error(`PostgreSQL finds ${passes[0]?.[1]} matches, the matcher ${matches}`)
  // The first pass warms up.
  const passMs = median(passes.slice(1).map(([ms]) => ms ?? Number.NaN))
  await warmUp([work], warmUpSeconds)
  const perPost = await inTurn({ matched: work }, { rounds, roundMs: 500 })
  return figure(
    {
      name: `match-against-postgresql-${count >= 1_000_000 ? "1m" : "100k"}`,
      value: 1e6 / perPost.matched,
      unit: "posts/s",
      limit: (posts.length * 1000) / passMs,
      limitIs: "PostgreSQL with a b-tree of anchors",
    },
    { atLeast: count >= 1_000_000 ? 40 : 25 },
  )
}

/** A rule as words; the first is required. */
type WordRule = { readonly words: readonly string[]; readonly without: readonly string[] }

/** This many rules of whole words, each passed to `give` unchanged. Skips keywords of several tokens. */
function* wordRules(mix: RuleMix, count: number, give: (rule: Rule) => void): Generator<WordRule> {
  let left = count
  for (const text of keywordRuleTexts(mix)) {
    const result = parseRule(text)
    const words = result.ok ? wordsOf(result.rule) : undefined
    if (!result.ok || words === undefined) continue
    give(result.rule)
    yield words
    left -= 1
    if (left === 0) return
  }
}

function wordsOf(rule: Rule): WordRule | undefined {
  const words: string[] = []
  const without: string[] = []
  for (const clause of rule.kind === "all" ? rule.rules : [rule]) {
    const operator = clause.kind === "not" ? clause.rule : clause
    if (operator.kind !== "words" || operator.words.length !== 1) return undefined
    for (const { text } of operator.words) (clause.kind === "not" ? without : words).push(text)
  }
  return { words, without }
}

async function loadRules(database: string, rules: Iterable<WordRule>): Promise<void> {
  await psql(
    database,
    "DROP TABLE IF EXISTS rules",
    `CREATE UNLOGGED TABLE rules (id int, anchor text COLLATE "C", query tsquery)`,
  )
  await copy(database, "COPY rules FROM STDIN", rowsOf(rules))
  await psql(database, "CREATE INDEX ON rules (anchor)", "VACUUM ANALYZE rules")
}

/** Tokens hold letters, digits and emoji alone: nothing in them needs escaping. */
function* rowsOf(rules: Iterable<WordRule>): Generator<string> {
  let id = 0
  for (const { words, without } of rules) {
    const query = [...words.map((word) => `'${word}'`), ...without.map((word) => `!'${word}'`)].join(" & ")
    yield `${id}\t${words[0]}\t${query}\n`
    id += 1
  }
}

async function loadPosts(database: string, posts: readonly RuleEnvelope[]): Promise<void> {
  await psql(database, "CREATE UNLOGGED TABLE posts (tokens text[], vector tsvector)")
  await copy(
    database,
    "COPY posts (tokens) FROM STDIN",
    posts.map((post) => `{${[...tokensOf(readPost(post))].map((token) => `"${token}"`).join()}}\n`),
  )
  await psql(
    database,
    "UPDATE posts SET vector = array_to_tsvector(tokens)",
    "VACUUM ANALYZE posts",
    `CREATE FUNCTION one_pass() RETURNS text LANGUAGE plpgsql AS $$
     DECLARE
       post record;
       found int[];
       matches bigint := 0;
       begun timestamptz := clock_timestamp();
     BEGIN
       FOR post IN SELECT tokens, vector FROM posts LOOP
         SELECT array_agg(id) INTO found FROM rules WHERE anchor = ANY(post.tokens) AND post.vector @@ query;
         matches := matches + coalesce(cardinality(found), 0);
       END LOOP;
       RETURN 1000 * extract(epoch FROM clock_timestamp() - begun) || ' ' || matches;
     END $$`,
  )
}

function tokensOf(post: PostFacts): ReadonlySet<string> {
  const tokens = new Set<string>()
  for (const passage of post.passages("text")) {
    for (const { text, toneless } of passage.tokens) {
      if (text !== "") tokens.add(text)
      if (toneless !== undefined) tokens.add(toneless)
    }
  }
  return tokens
}

async function copy(database: string, statement: string, rows: Iterable<string>): Promise<void> {
  const args = ["-X", "-q", "-w", "-d", database, "-c", statement]
  const child = spawn("psql", args, { env: environment, stdio: ["pipe", "inherit", "inherit"] })
  const exited = once(child, "exit")
  await pipeline(Readable.from(rows), child.stdin)
  const [code] = (await exited) as [number]
  if (code !== 0) throw new Error(`psql ended with ${code}`)
}
