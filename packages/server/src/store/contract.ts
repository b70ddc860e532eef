/**
 * What every store must do. An implementation's test calls `storeContract` with a way to open an empty store and
 * a way to open the same one again.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { App, StoredToken } from "../model/app.ts"
import type { AppId, LinkId, MatchSeq, PostId, RuleId, UserId, WebhookId } from "../model/ids.ts"
import type { LinkProgress, Retry, StoredLink } from "../model/link.ts"
import type { AcceptedPost, PostShape } from "../model/post.ts"
import type { StoredRule } from "../model/rule.ts"
import type { StoredWebhook } from "../model/webhook.ts"
import type { Store, StoreAudit, StoreChange, UserPostsRange } from "./store.ts"

/** A way to a store that is empty at first and keeps what it was given. */
export interface StoreUnderTest extends AsyncDisposable {
  open(): Promise<Store>
  /** Looks at everything, also while it is open. */
  audit(): Promise<StoreAudit>
}

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

/** An app of the given id. */
export function anApp(id: string): App {
  return {
    id: id as AppId,
    name: `app ${id}`,
    businessUserId: `${id}1`,
    instanceId: `${id}2`,
    consumerKey: `key-${id}`,
    consumerSecretSealed: bytes(1, 2, 3),
    generation: 1,
    createdAtMs: 1_700_000_000_000,
    revoked: false,
  }
}

/** A token of the given app. */
export function aToken(app: string, value: number): StoredToken {
  return { hash: bytes(value), kind: "app", appId: app as AppId, createdAtMs: 5 }
}

function aRule(app: string, id: string, value: string, tag?: string): StoredRule {
  return { id: id as RuleId, appId: app as AppId, value, ...(tag !== undefined && { tag }) }
}

/** A webhook of the given app. */
export function aWebhook(app: string, id: string, url = `https://example.com/${id}`): StoredWebhook {
  return {
    id: id as WebhookId,
    appId: app as AppId,
    url,
    createdAtMs: 7,
    valid: true,
    checkedAtMs: 7,
    signingKeySealed: bytes(9),
  }
}

/** A link of the given app and webhook. */
export function aLink(app: string, id: string, webhook: string, query = ""): StoredLink {
  return { id: id as LinkId, appId: app as AppId, webhookId: webhook as WebhookId, createdAtMs: 8, query }
}

/** A post of the given id and author, made at the given time. */
export function aPost(id: string, author?: string, more: Partial<AcceptedPost> = {}): AcceptedPost {
  return {
    id: id as PostId,
    ...(author !== undefined && { authorId: author as UserId }),
    createdAtMs: id.length < 15 ? Number(id) : 15,
    isReply: false,
    isRepost: false,
    core: `{"id":"${id}"}`,
    envelope: `{"data":{"id":"${id}"},"whole":true}`,
    userIds: author === undefined ? [] : [author as UserId],
    ...more,
  }
}

const cap = { rulesMax: 10, dryRun: false }
const allOlder = { direction: "older", limit: 100 } as const

/** Ids beyond what a double holds exactly. */
const large = ["9007199254740993", "9223372036854775806"] as const

/** The tests that a store passes. */
export function storeContract(name: string, make: () => Promise<StoreUnderTest>): void {
  describe(`${name} keeps the contract of a store`, () => {
    let under: StoreUnderTest
    let store: Store
    const app = "100" as AppId
    const other = "200" as AppId

    beforeEach(async () => {
      under = await make()
      store = await under.open()
      await store.createApp(anApp("100"), [aToken("100", 1)])
      await store.createApp(anApp("200"), [aToken("200", 2)])
    })

    afterEach(async () => {
      await store[Symbol.asyncDispose]()
      await under[Symbol.asyncDispose]()
    })

    async function reopen(): Promise<void> {
      await store[Symbol.asyncDispose]()
      store = await under.open()
    }

    function match(appId: AppId, ...rules: string[]) {
      return { appId, rules: rules.map((id) => ({ id })) }
    }

    async function positions(appId: AppId, after = 0, limit = 100): Promise<readonly [number, string][]> {
      const entries = await store.matches({ appId, after: after as MatchSeq, limit, shape: "core" })
      return entries.map((entry) => [entry.seq, entry.postId])
    }

    function scan(range: Partial<UserPostsRange>) {
      return store.userPosts({
        userId: "7" as UserId,
        direction: "older",
        limit: 10,
        excludeReplies: false,
        excludeReposts: false,
        scanMax: 100,
        shape: "core",
        ...range,
      })
    }

    async function idsOf(range: Partial<UserPostsRange>): Promise<readonly string[]> {
      return (await scan(range)).posts.map((post) => post.id)
    }

    test("apps and tokens come back as they were put in, also after a restart", async () => {
      await reopen()
      expect((await store.apps()).map((found) => found.id)).toEqual(["200", "100"])
      expect(await store.app(app)).toEqual(anApp("100"))
      expect(await store.appByConsumerKey("key-200")).toEqual(anApp("200"))
      expect(await store.token(bytes(1))).toEqual(aToken("100", 1))
      expect(await store.token(bytes(3))).toBeUndefined()
      expect(await store.app("300" as AppId)).toBeUndefined()
    })

    test("a token of no app has no app", async () => {
      await store.createToken({ hash: bytes(8), kind: "operator", createdAtMs: 1 })
      expect(await store.token(bytes(8))).toEqual({ hash: bytes(8), kind: "operator", createdAtMs: 1 })
    })

    test("rotation replaces an app's tokens and credentials", async () => {
      const rotated = { ...anApp("100"), consumerKey: "new", generation: 2 }
      expect(await store.rotateApp(rotated, [aToken("100", 4)])).toBe(true)
      expect(await store.token(bytes(1))).toBeUndefined()
      expect(await store.token(bytes(4))).toBeDefined()
      expect(await store.app(app)).toEqual(rotated)
      expect(await store.rotateApp({ ...anApp("300") }, [])).toBe(false)
    })

    test("a revoked app has no tokens, no live rules and no links to deliver", async () => {
      await store.addRules(app, [aRule("100", "1", "cat")], cap)
      await store.createWebhook(aWebhook("100", "11"), { webhooksMax: 5 })
      await store.createLink(aLink("100", "21", "11"))
      const before = (await store.allRules()).seq
      expect(await store.revokeApp(app)).toBe(true)
      expect(await store.revokeApp(app)).toBe(false)
      expect(await store.token(bytes(1))).toBeUndefined()
      expect((await store.allRules()).rules).toEqual([])
      expect(await store.ruleChanges(before, 10)).toMatchObject([{ kind: "removed", ruleId: "1" }])
      expect(await store.allLinks()).toEqual([])
      expect((await store.app(app))?.revoked).toBe(true)
    })

    test("rules are listed newest first, with their tags, within their app", async () => {
      const added = await store.addRules(
        app,
        [aRule("100", "1", "cat"), aRule("100", large[0], "dog", "pets")],
        cap,
      )
      await store.addRules(other, [aRule("200", "3", "cat")], cap)
      await reopen()
      expect(added).toEqual([{ kind: "created" }, { kind: "created" }])
      expect(await store.rules(app, allOlder)).toEqual([
        aRule("100", large[0], "dog", "pets"),
        aRule("100", "1", "cat"),
      ])
      expect(await store.ruleCount(app)).toBe(2)
    })

    test("a page of rules starts after the id it is given, either way", async () => {
      const rules = ["1", "9", "10", "11", large[1]].map((id) => aRule("100", id, `rule ${id}`))
      await store.addRules(app, rules, cap)
      const page = async (direction: "older" | "newer", from: string, ids?: string[]) =>
        (await store.rules(app, { direction, from: from as RuleId, limit: 2 }, ids as RuleId[])).map(
          (rule) => rule.id,
        )
      expect(await page("older", "10")).toEqual(["9", "1"])
      expect(await page("newer", "9")).toEqual(["11", "10"])
      expect(await page("newer", "1", ["9", large[1], "11"])).toEqual(["11", "9"])
      expect(await page("older", "11", ["9", "10", "404"])).toEqual(["10", "9"])
    })

    test("a value that the app has already is a duplicate, within a batch too", async () => {
      await store.addRules(app, [aRule("100", "1", "cat")], cap)
      const outcome = await store.addRules(
        app,
        [aRule("100", "2", "cat"), aRule("100", "3", "dog"), aRule("100", "4", "dog")],
        cap,
      )
      expect(outcome).toEqual([
        { kind: "duplicate", id: "1" },
        { kind: "created" },
        { kind: "duplicate", id: "3" },
      ])
    })

    test("rules over the cap are not added, and those before it are", async () => {
      const rules = ["a", "b", "c"].map((value, index) => aRule("100", String(index + 1), value))
      const outcome = await store.addRules(app, rules, { rulesMax: 2, dryRun: false })
      expect(outcome.map((added) => added.kind)).toEqual(["created", "created", "over-cap"])
      expect(await store.ruleCount(app)).toBe(2)
    })

    test("a dry run answers the same and keeps nothing", async () => {
      const dry = { rulesMax: 1, dryRun: true }
      const outcome = await store.addRules(app, [aRule("100", "1", "a"), aRule("100", "2", "b")], dry)
      expect(outcome.map((added) => added.kind)).toEqual(["created", "over-cap"])
      await store.addRules(app, [aRule("100", "3", "c")], cap)
      expect(await store.deleteRules(app, { kind: "all" }, { dryRun: true })).toHaveLength(1)
      expect((await store.rules(app, allOlder)).map((rule) => rule.id)).toEqual(["3"])
      expect(await store.ruleChanges(0, 10)).toHaveLength(1)
    })

    test("rules are deleted by id, by value or all, never another app's", async () => {
      await store.addRules(
        app,
        ["a", "b", "c", "d"].map((value, i) => aRule("100", String(i + 1), value)),
        cap,
      )
      await store.addRules(other, [aRule("200", "9", "a")], cap)
      const options = { dryRun: false }
      const ids = ["1", "9", "404"] as RuleId[]
      expect(await store.deleteRules(app, { kind: "ids", ids }, options)).toEqual([aRule("100", "1", "a")])
      const values = ["a", "b"]
      expect(await store.deleteRules(app, { kind: "values", values }, options)).toEqual([
        aRule("100", "2", "b"),
      ])
      expect(await store.deleteRules(app, { kind: "all" }, options)).toHaveLength(2)
      expect(await store.ruleCount(other)).toBe(1)
    })

    test("the changes of rulesets lead from any state to the present one", async () => {
      await store.addRules(app, [aRule("100", "1", "cat", "t")], cap)
      const { rules, seq } = await store.allRules()
      expect(rules).toEqual([aRule("100", "1", "cat", "t")])
      await store.deleteRules(app, { kind: "all" }, { dryRun: false })
      await store.addRules(other, [aRule("200", "2", "dog")], cap)
      const changes = await store.ruleChanges(seq, 10)
      expect(changes).toMatchObject([
        { kind: "removed", appId: "100", ruleId: "1" },
        { kind: "added", rule: aRule("200", "2", "dog") },
      ])
      expect(await store.ruleChanges(changes.at(-1)?.seq ?? 0, 10)).toEqual([])
    })

    test("changes of rulesets that are forgotten do not come again, and later ones do", async () => {
      await store.addRules(app, [aRule("100", "1", "cat"), aRule("100", "2", "dog")], cap)
      const { seq } = await store.allRules()
      await store.forgetRuleChanges(seq)
      await reopen()
      expect(await store.ruleChanges(0, 10)).toEqual([])
      await store.addRules(app, [aRule("100", "3", "bird")], cap)
      const [change] = await store.ruleChanges(seq, 10)
      expect(change).toMatchObject({ kind: "added", rule: { id: "3" } })
      expect(change?.seq).toBeGreaterThan(seq)
      expect((await store.allRules()).rules).toHaveLength(3)
    })

    test("a webhook's URL is unique within its app, and their number is bounded", async () => {
      const two = { webhooksMax: 2 }
      expect(await store.createWebhook(aWebhook("100", "1", "https://a.example/"), two)).toBe("created")
      expect(await store.createWebhook(aWebhook("100", "2", "https://a.example/"), two)).toBe("duplicate")
      expect(await store.createWebhook(aWebhook("200", "3", "https://a.example/"), two)).toBe("created")
      expect(await store.createWebhook(aWebhook("100", "4"), two)).toBe("created")
      expect(await store.createWebhook(aWebhook("100", "5"), two)).toBe("over-limit")
      expect((await store.webhooks(app)).map((webhook) => webhook.id)).toEqual(["4", "1"])
      expect(await store.webhook(app, "3" as WebhookId)).toBeUndefined()
      expect(await store.webhook(app, "4" as WebhookId)).toEqual(aWebhook("100", "4"))
      expect(await store.allWebhooks()).toHaveLength(3)
    })

    test("a challenge's success moves the time of the last success, a failure does not", async () => {
      await store.createWebhook(aWebhook("100", "1"), { webhooksMax: 5 })
      const id = "1" as WebhookId
      expect(await store.setWebhookValid(id, { valid: false, reason: "said no." }, 50)).toBe(true)
      expect(await store.webhook(app, id)).toMatchObject({
        valid: false,
        invalidReason: "said no.",
        checkedAtMs: 7,
      })
      await store.setWebhookValid(id, { valid: true }, 60)
      expect(await store.webhook(app, id)).toEqual({ ...aWebhook("100", "1"), checkedAtMs: 60 })
      expect(await store.setWebhookValid("404" as WebhookId, { valid: true }, 1)).toBe(false)
    })

    test("links are listed newest first, once per webhook, within their app", async () => {
      for (const id of ["1", "2"]) await store.createWebhook(aWebhook("100", id), { webhooksMax: 5 })
      expect(await store.createLink(aLink("100", "31", "1", "expansions=author_id"))).toBe("created")
      expect(await store.createLink(aLink("100", large[0], "2"))).toBe("created")
      expect(await store.createLink(aLink("100", "33", "2"))).toBe("exists")
      expect(await store.createLink(aLink("200", "34", "2"))).toBe("no-webhook")
      await reopen()
      expect(await store.links(app, allOlder)).toEqual([
        aLink("100", large[0], "2"),
        aLink("100", "31", "1", "expansions=author_id"),
      ])
      expect(await store.links(app, { ...allOlder, from: large[0] as LinkId })).toHaveLength(1)
      expect(await store.links(other, allOlder)).toEqual([])
      expect(await store.link(app, "2" as WebhookId)).toEqual(aLink("100", large[0], "2"))
      expect(await store.deleteLink(other, "2" as WebhookId)).toBe(false)
      expect(await store.deleteLink(app, "2" as WebhookId)).toBe(true)
      expect(await store.deleteLink(app, "2" as WebhookId)).toBe(false)
    })

    test("a webhook takes its link with it, and only its app can delete it", async () => {
      await store.createWebhook(aWebhook("100", "1"), { webhooksMax: 5 })
      await store.createLink(aLink("100", "31", "1"))
      expect(await store.deleteWebhook(other, "1" as WebhookId)).toBe(false)
      expect(await store.deleteWebhook(app, "1" as WebhookId)).toBe(true)
      expect(await store.links(app, allOlder)).toEqual([])
    })

    /** A link "31" of the app, and its progress. */
    async function addLink(): Promise<void> {
      await store.createWebhook(aWebhook("100", "1"), { webhooksMax: 5 })
      await store.createLink(aLink("100", "31", "1"))
    }

    function progress(position: number, more: Partial<LinkProgress> = {}): LinkProgress {
      return {
        linkId: "31" as LinkId,
        position: position as MatchSeq,
        retries: [],
        settled: [],
        dead: [],
        delivered: 0,
        ...more,
      }
    }

    function aRetry(seq: number, failures = 1, dueAtMs = 1_800_000_000_000): Retry {
      return { seq: seq as MatchSeq, failures, dueAtMs }
    }

    async function retries(): Promise<readonly Retry[]> {
      const found = await store.retries("31" as LinkId, "core")
      return found.map(({ seq, failures, dueAtMs }) => ({ seq, failures, dueAtMs }))
    }

    /** Posts of these ids, each a match of the app. */
    async function appendMatches(...ids: readonly string[]): Promise<void> {
      await store.append(
        ids.map((id) => ({ post: aPost(id), matches: [match(app, "5")] })),
        10,
      )
    }

    test("a link starts at the newest match, and its cursor moves forward only, durably", async () => {
      await appendMatches("1")
      await addLink()
      const position = async () => (await store.allLinks())[0]?.position
      expect(await position()).toBe(1)
      await store.saveProgress([progress(5)])
      await store.saveProgress([progress(3)])
      await reopen()
      expect(await position()).toBe(5)
    })

    test("retries are kept with their cursor, oldest first, each with its match, until they are settled", async () => {
      await addLink()
      await appendMatches(large[0], "2", large[1], "4")
      await store.saveProgress([progress(3, { retries: [aRetry(3, 0, 0), aRetry(1, 2)] })])
      await reopen()
      expect(await store.retries("31" as LinkId, "envelope")).toEqual([
        {
          ...aRetry(1, 2),
          entry: {
            seq: 1,
            postId: large[0],
            atMs: 10,
            rulesJson: '[{"id":"5"}]',
            postJson: `{"data":{"id":"${large[0]}"},"whole":true}`,
          },
        },
        { ...aRetry(3, 0, 0), entry: expect.objectContaining({ seq: 3, postId: large[1] }) },
      ])
      const more = progress(4, { retries: [aRetry(3, 5, 7), aRetry(4)], settled: [1 as MatchSeq] })
      await store.saveProgress([more])
      await store.saveProgress([more])
      await reopen()
      expect(await retries()).toEqual([aRetry(3, 5, 7), aRetry(4)])
      await store.saveProgress([progress(4, { settled: [3, 4] as MatchSeq[] })])
      expect(await retries()).toEqual([])
    })

    test("progress of a link that is gone is passed over, and its retries go with it", async () => {
      await addLink()
      await appendMatches("1", "2")
      await store.saveProgress([
        progress(9, { linkId: "404" as LinkId, retries: [aRetry(1)], settled: [2 as MatchSeq] }),
        progress(2, { retries: [aRetry(1)] }),
      ])
      expect(await retries()).toEqual([aRetry(1)])
      expect(await store.retries("404" as LinkId, "core")).toEqual([])
      await store.deleteWebhook(app, "1" as WebhookId)
      expect(await retries()).toEqual([])
      await store.saveProgress([progress(2, { retries: [aRetry(2)] })])
      await addLink()
      expect(await retries()).toEqual([])
    })

    test("retries of two links on one log are each their own", async () => {
      await addLink()
      await store.createWebhook(aWebhook("100", "2"), { webhooksMax: 5 })
      await store.createLink(aLink("100", "32", "2"))
      await appendMatches("1", "2")
      const second = { linkId: "32" as LinkId, retries: [aRetry(1), aRetry(2)] }
      await store.saveProgress([progress(2, { retries: [aRetry(2, 3)] }), progress(2, second)])
      await store.saveProgress([progress(2, { linkId: "32" as LinkId, settled: [2 as MatchSeq] })])
      expect(await retries()).toEqual([aRetry(2, 3)])
      expect(await store.retries("32" as LinkId, "core")).toMatchObject([aRetry(1)])
    })

    test("matches are numbered from 1 without gaps, for each app by itself", async () => {
      const accepted = await store.append(
        [
          { post: aPost(large[1]), matches: [match(app, "1"), match(other, "2", "3")] },
          { post: aPost("2"), matches: [] },
          { post: aPost("3"), matches: [match(app, "1")] },
        ],
        50,
      )
      await reopen()
      await store.append([{ post: aPost("4"), matches: [match(app, "1")] }], 60)
      expect(accepted).toEqual([true, true, true])
      expect(await positions(app)).toEqual([
        [1, large[1]],
        [2, "3"],
        [3, "4"],
      ])
      expect(await positions(app, 1, 1)).toEqual([[2, "3"]])
      expect(await positions(app, 3)).toEqual([])
      expect(await store.head(app)).toBe(3)
      expect(await store.head("300" as AppId)).toBe(0)
      const [entry] = await store.matches({ appId: other, after: 0 as MatchSeq, limit: 1, shape: "envelope" })
      expect(entry).toEqual({
        seq: 1,
        postId: large[1],
        atMs: 50,
        rulesJson: '[{"id":"2"},{"id":"3"}]',
        postJson: `{"data":{"id":"${large[1]}"},"whole":true}`,
      })
    })

    test("a read of a log ends with the post that takes it to its bytes, or beyond them", async () => {
      const posts = ["1", "2", "3", "4"].map((id) => aPost(id, "7", { core: "ä".repeat(50), envelope: id }))
      await store.append(
        posts.map((post) => ({ post, matches: [match(app, "1")] })),
        1,
      )
      const read = async (bytesMax: number, after = 0, shape: PostShape = "core") => {
        const entries = await store.matches({
          appId: app,
          after: after as MatchSeq,
          limit: 3,
          bytesMax,
          shape,
        })
        return entries.map(({ seq }) => seq)
      }
      expect(await read(0)).toEqual([1])
      expect(await read(100)).toEqual([1])
      expect(await read(101)).toEqual([1, 2])
      expect(await read(200, 2)).toEqual([3, 4])
      expect(await read(1_000)).toEqual([1, 2, 3])
      expect(await read(2, 0, "envelope")).toEqual([1, 2])
      expect(await read(1, 4)).toEqual([])
    })

    test("a post that is stored already is left alone, and logged no second time", async () => {
      const first = aPost("1", "7")
      const second = { ...first, core: "changed" }
      expect(await store.append([{ post: first, matches: [match(app, "1")] }], 1)).toEqual([true])
      const batch = [second, aPost("2", "7"), aPost("2", "7")].map((post) => ({
        post,
        matches: [match(app, "1")],
      }))
      expect(await store.append(batch, 2)).toEqual([false, true, false])
      expect(await positions(app)).toEqual([
        [1, "1"],
        [2, "2"],
      ])
      expect((await scan({})).posts.at(-1)).toEqual({ id: "1", json: '{"id":"1"}' })
    })

    test("concurrent appends neither lose nor double an entry", async () => {
      const ids = Array.from({ length: 200 }, (_, index) => String(index + 1))
      await Promise.all(ids.map((id) => store.append([{ post: aPost(id), matches: [match(app, "1")] }], 1)))
      const entries = await positions(app, 0, 1000)
      expect(entries.map(([seq]) => seq)).toEqual(ids.map(Number))
      expect(new Set(entries.map(([, id]) => id)).size).toBe(200)
    })

    test("the position at a time is before everything appended from then on", async () => {
      for (const [id, atMs] of [
        ["1", 10],
        ["2", 20],
        ["3", 20],
        ["4", 30],
      ] as const) {
        await store.append([{ post: aPost(id), matches: [match(app, "1")] }], atMs)
      }
      const found = await Promise.all([0, 10, 11, 20, 21, 30, 31].map((atMs) => store.positionAt(app, atMs)))
      expect(found).toEqual([0, 0, 1, 1, 3, 3, 4])
      expect(await store.positionAt(other, 0)).toBe(0)
    })

    test("a user's posts are read newest first from any place, either way", async () => {
      const posts = ["1", "9", "10", "11", large[0]].map((id) => aPost(id, "7"))
      await store.append(
        [...posts, aPost("5", "8"), aPost("6")].map((post) => ({ post, matches: [] })),
        1,
      )
      expect(await idsOf({})).toEqual([large[0], "11", "10", "9", "1"])
      expect(await scan({ limit: 2 })).toMatchObject({ stoppedAt: "11" })
      expect(await scan({ limit: 5 })).not.toHaveProperty("stoppedAt")
      expect(await idsOf({ limit: 2, from: "11" as PostId })).toEqual(["10", "9"])
      expect(await idsOf({ limit: 2, direction: "newer", from: "1" as PostId })).toEqual(["10", "9"])
      expect(await scan({ limit: 2, direction: "newer", from: "1" as PostId })).toMatchObject({
        stoppedAt: "10",
      })
      expect(await idsOf({ sinceId: "9" as PostId, untilId: large[0] as PostId })).toEqual(["11", "10"])
      expect(await scan({ shape: "envelope", limit: 1 })).toMatchObject({
        posts: [{ id: large[0], json: `{"data":{"id":"${large[0]}"},"whole":true}` }],
      })
    })

    test("a post of the greatest id there is stands on its author's pages", async () => {
      const greatest = aPost("9223372036854775807", "7")
      await store.append([{ post: greatest, matches: [] }], 1)
      expect(await idsOf({})).toEqual([greatest.id])
      expect(await idsOf({ direction: "newer", from: "1" as PostId })).toEqual([greatest.id])
      expect(await idsOf({ untilId: greatest.id })).toEqual([])
    })

    test("a filter takes what it should and stops at its budget", async () => {
      const posts = ["1", "2", "3", "4", "5", "6"].map((id) =>
        aPost(id, "7", { isReply: Number(id) % 2 === 0, isRepost: id === "5" }),
      )
      await store.append(
        posts.map((post) => ({ post, matches: [] })),
        1,
      )
      expect(await idsOf({ excludeReplies: true })).toEqual(["5", "3", "1"])
      expect(await idsOf({ excludeReplies: true, excludeReposts: true })).toEqual(["3", "1"])
      expect(await idsOf({ startMs: 2, endMs: 5 })).toEqual(["4", "3", "2"])
      const short = await scan({ excludeReplies: true, excludeReposts: true, scanMax: 2 })
      expect(short).toEqual({ posts: [], stoppedAt: "5", damaged: [] })
      const last = await scan({ excludeReplies: true, excludeReposts: true, scanMax: 6 })
      expect(last).not.toHaveProperty("stoppedAt")
      const full = await scan({ excludeReplies: true, limit: 2 })
      expect(full).toMatchObject({ posts: [{ id: "5" }, { id: "3" }], stoppedAt: "3" })
    })

    test("a span of time is found at once where ids hold their times", async () => {
      const startMs = Date.UTC(2026, 0, 1)
      const idAt = (atMs: number): string => (BigInt(atMs - 1_288_834_974_657) << 22n).toString()
      const posts = Array.from({ length: 100 }, (_, index) => {
        const createdAtMs = startMs + index * 60_000
        return aPost(idAt(createdAtMs), "7", { createdAtMs })
      })
      const old = aPost("20", "7", { createdAtMs: Date.UTC(2006, 2, 21) })
      await store.append(
        [old, ...posts].map((post) => ({ post, matches: [] })),
        1,
      )
      const span = { startMs: startMs + 600_000, endMs: startMs + 720_000, scanMax: 3 }
      const found = { posts: [{ id: posts[11]?.id }, { id: posts[10]?.id }] }
      expect(await scan(span)).toMatchObject(found)
      expect(await scan(span)).not.toHaveProperty("stoppedAt")
      expect(await scan({ ...span, direction: "newer" })).toMatchObject(found)
      expect(await idsOf({ endMs: startMs, scanMax: 3 })).toEqual(["20"])
    })

    test("a span of time finds every post of its time where ids hold none", async () => {
      const posts = [5, 1, 4, 2, 3].map((minute, index) =>
        aPost(`190000000000000000${index}`, "7", { createdAtMs: minute * 60_000 }),
      )
      await store.append(
        posts.map((post) => ({ post, matches: [] })),
        1,
      )
      expect(await idsOf({ startMs: 120_000, endMs: 300_000 })).toEqual([
        posts[4]?.id,
        posts[3]?.id,
        posts[2]?.id,
      ])
    })

    test("users are known by their posts and by what their posts show", async () => {
      const post = aPost("1", "7", { userIds: ["7", "8"] as UserId[] })
      await store.append([{ post, matches: [] }], 1)
      const known = await Promise.all(["7", "8", "9"].map((id) => store.isUserKnown(id as UserId)))
      expect(known).toEqual([true, true, false])
    })

    test("recent posts are the newest by id", async () => {
      await store.append(
        ["9", "10", "8"].map((id) => ({ post: aPost(id), matches: [] })),
        1,
      )
      expect((await store.recentPosts(2)).map((post) => post.id)).toEqual(["10", "9"])
    })

    test("a change is announced once it can be read, until the listener leaves", async () => {
      const heard: StoreChange[] = []
      const stop = store.onChange((change) => heard.push(change))
      await store.append([{ post: aPost("1"), matches: [match(app, "1")] }], 1)
      expect(heard).toEqual([{ kind: "matches", appIds: [app] }])
      await store.createWebhook(aWebhook("100", "1"), { webhooksMax: 5 })
      expect(heard.at(-1)).toEqual({ kind: "control" })
      stop()
      await store.append([{ post: aPost("2"), matches: [match(app, "1")] }], 1)
      expect(heard).toHaveLength(2)
    })

    test("a write that fails takes nothing of its neighbours with it", async () => {
      const outcomes = await Promise.allSettled([
        store.append([{ post: aPost("1"), matches: [] }], 1),
        store.createApp(anApp("100"), []),
        store.append([{ post: aPost("2"), matches: [] }], 1),
      ])
      expect(outcomes.map((outcome) => outcome.status)).toEqual(["fulfilled", "rejected", "fulfilled"])
      expect(await store.recentPosts(5)).toHaveLength(2)
    })
  })
}
