/**
 * Methods of resources, made of operations:
 *
 *     method(…parameters of the path, body, { …query parameters, signal, headers })
 *
 * Path, body and query have the types of the operation. A response that shows posts or users has the names of its request,
 * in its type too.
 */
import type { IncludesIn, Post, PostIn, User, UserIn, Vocabulary, VocabularyOf } from "@sluice/api"
import { paths } from "@sluice/api/paths"
import type { BodyOf, Operations, ParametersOf, ResponseOf, SendingOptions } from "./operations.ts"
import { pages, type Page } from "./pages.ts"
import { ofPage, type AnyOptions, type AnyRequest, type Requests } from "./requests.ts"

type Name = keyof Operations
type MethodOf<N extends Name> = keyof Operations[N] & string

/** Operations that read. */
type ReadName = { [N in Name]: "GET" extends keyof Operations[N] ? N : never }[Name]

/** Operations whose responses show posts or users. */
type SelectingName = { [N in ReadName]: "includes" extends keyof ResponseOf<N, "GET"> ? N : never }[ReadName]

/** The query parameters of an operation, with the options of any request. */
export type MethodOptions<N extends Name, M extends MethodOf<N>> = {
  readonly [Option in keyof (ParametersOf<N, M> & SendingOptions)]: (ParametersOf<N, M> & SendingOptions)[Option]
}

/** A method that returns the body of the response. Throws as `Client.request` does. */
export interface Call<N extends Name, M extends MethodOf<N>> {
  (...given: ArgumentsOf<N, M, MethodOptions<N, M>>): Promise<ResponseOf<N, M>>
}

/** A method that returns posts or users under the names of the request. */
export interface SelectingCall<N extends SelectingName> {
  <const Given extends MethodOptions<N, "GET"> = WithoutChoice<N>>(
    ...given: ArgumentsOf<N, "GET", Given & NothingBut<Given, N>>
  ): Promise<ResponseIn<N, VocabularyOf<Given>>>
}

/** A method that returns a list. */
export interface ListCall<N extends ReadName> {
  (...given: ArgumentsOf<N, "GET", MethodOptions<N, "GET">>): List<ResponseOf<N, "GET">>
}

/** A method that returns a list of posts or users under the names of the request. */
export interface SelectingListCall<N extends SelectingName> {
  <const Given extends MethodOptions<N, "GET"> = WithoutChoice<N>>(
    ...given: ArgumentsOf<N, "GET", Given & NothingBut<Given, N>>
  ): List<ResponseIn<N, VocabularyOf<Given>>>
}

/** A list: the promise of the page that was requested, and the iterations that begin with that page. */
export interface List<Body> extends Promise<Body> {
  /**
   * The items of this page and of those after it, in the order of the pages: newest first where they are by time, and with
   * `newer` the other way. Leaves out what else pages have, such as `includes` and `errors`. Throws as a request does.
   */
  items(options?: IterationOptions<Body>): AsyncGenerator<ItemOf<Body>, void, void>
  /** This page and those after it, each with its `meta`, `includes` and `errors`. Throws as a request does. */
  pages(options?: IterationOptions<Body>): AsyncGenerator<Body, void, void>
}

/** Options of an iteration over a list. */
interface IterationOptions<Body> {
  /**
   * `older`: by `next_token`, to the last page. `newer`, where pages have a `previous_token`: from the page of the
   * request's `pagination_token` back to the first.
   */
  readonly direction?: DirectionOf<Body> | undefined
}

type DirectionOf<Body> = Body extends { readonly meta?: infer Meta }
  ? "previous_token" extends keyof NonNullable<Meta>
    ? "older" | "newer"
    : "older"
  : "older"

/** An item of a page: of its data, or of the links in them. */
type ItemOf<Body> = Body extends { readonly data?: infer Data }
  ? Data extends readonly (infer Item)[]
    ? Item
    : Data extends { readonly links: readonly (infer Link)[] }
      ? Link
      : never
  : never

type ArgumentsOf<N extends Name, M extends MethodOf<N>, Options> = [
  ...PathArguments<(typeof paths)[N]>,
  ...([BodyOf<N, M>] extends [never] ? [] : [body: BodyOf<N, M>]),
  ...(object extends MethodOptions<N, M> ? [options?: Options] : [options: Options]),
]

type PathArguments<Path extends string> = Path extends `${string}:${infer Parameter}/${infer Rest}`
  ? [...PathArgument<Parameter>, ...PathArguments<Rest>]
  : Path extends `${string}:${infer Parameter}`
    ? PathArgument<Parameter>
    : []

type PathArgument<Parameter extends string> = Parameter extends keyof LabelledArguments
  ? LabelledArguments[Parameter]
  : [parameter: string]

/** Labels cannot be made of other types. */
interface LabelledArguments {
  readonly id: [id: string]
  readonly username: [username: string]
  readonly post_id: [postId: string]
  readonly rule_id: [ruleId: string]
  readonly webhook_id: [webhookId: string]
  readonly attempt_id: [attemptId: string]
  readonly token_id: [tokenId: string]
  readonly trouble_id: [troubleId: string]
  readonly endpoint_id: [endpointId: string]
  readonly name: [name: string]
}

/** Options that choose no names, as when none are given. */
type WithoutChoice<N extends SelectingName> = MethodOptions<N, "GET"> & {
  readonly "post.fields"?: undefined
  readonly expansions?: undefined
}

/** Refuses members that are not among the options: an inferred type could have any. */
type NothingBut<Given, N extends SelectingName> = {
  readonly [Member in Exclude<keyof Given, keyof MethodOptions<N, "GET">>]: never
}

/** A response with its posts and users under the names of a vocabulary. */
type ResponseIn<N extends SelectingName, In extends Vocabulary> = In extends Vocabulary
  ? BodyIn<ResponseOf<N, "GET">, In>
  : never

type BodyIn<Body, In extends Vocabulary> = {
  readonly [Member in keyof Body]: Member extends "data"
    ? DataIn<NonNullable<Body[Member]>, In>
    : Member extends "includes"
      ? IncludesIn<In>
      : Body[Member]
}

type DataIn<Data, In extends Vocabulary> = Data extends readonly (infer Item)[]
  ? readonly DataIn<Item, In>[]
  : Data extends Post
    ? PostIn<In>
    : Data extends User
      ? UserIn<In>
      : Data

/** Makes methods of operations. */
export interface Methods {
  /** The method of an operation that does one thing. `takes` is given exactly when it has a body. */
  readonly call: {
    <N extends SelectingName>(method: "GET", name: N): SelectingCall<N>
    <N extends Name, M extends MethodOf<N>>(
      method: M,
      name: N,
      ...takes: [BodyOf<N, M>] extends [never] ? [] : ["body"]
    ): Call<N, M>
  }
  /** The method of an operation that lists, newest first; or, within each page, `oldest-first`. */
  readonly list: {
    <N extends SelectingName>(name: N): SelectingListCall<N>
    <N extends ReadName>(name: N, order?: Order): ListCall<N>
  }
}

type Order = "newest-first" | "oldest-first"

/** Methods that send these requests. */
export function createMethods(requests: Requests): Methods {
  const request = requests.request as AnyRequest
  const call =
    (method: string, name: Name, takes?: "body"): unknown =>
    (...given: readonly unknown[]) =>
      request(method, name, optionsOf(name, takes !== undefined, given))
  const list =
    (name: Name, order: Order = "newest-first"): unknown =>
    (...given: readonly unknown[]) => {
      const options = optionsOf(name, false, given)
      return listOf((token) => request("GET", name, ofPage(options, token)) as Promise<AnyPage>, order)
    }
  return { call, list } as Methods
}

interface AnyPage extends Page {
  readonly data?: readonly unknown[] | { readonly links: readonly unknown[] }
}

function listOf(read: (token: string | undefined) => Promise<AnyPage>, order: Order): List<AnyPage> {
  const first = read(undefined)
  const follow = ({ direction }: { readonly direction?: "older" | "newer" | undefined } = {}) => {
    // The iteration throws its failure, perhaps later than a promise may be left alone.
    first.catch(() => undefined)
    return pages((token) => (token === undefined ? first : read(token)), direction)
  }
  return Object.assign(first, {
    pages: follow,
    items: (options: Parameters<typeof follow>[0] = {}) =>
      itemsOf(follow(options), (options.direction === "newer") === (order === "newest-first")),
  }) as List<AnyPage>
}

async function* itemsOf(found: AsyncIterable<AnyPage>, isReversed: boolean): AsyncGenerator<unknown, void, void> {
  for await (const { data = [] } of found) {
    const items = "links" in data ? data.links : data
    yield* isReversed ? items.toReversed() : items
  }
}

/** The options of a request: parameters of the path come first, in its order, then the body, then the query. */
function optionsOf(name: Name, takesBody: boolean, given: readonly unknown[]): AnyOptions {
  const names = Array.from(paths[name].matchAll(/:(\w+)/g), ([, parameter = ""]) => parameter)
  const parameters = Object.fromEntries(names.map((parameter, at) => [parameter, given[at] as string]))
  const [body, options] = takesBody ? given.slice(names.length) : [undefined, given[names.length]]
  const { signal, headers, ...query } = (options ?? {}) as AnyOptions
  return { parameters, body, query: query as Exclude<AnyOptions["query"], string>, signal, headers }
}
