/** The source of `/openapi.json`: the routes as they are registered. */
import type { RouteOptions } from "fastify"
import type { DescribedRoute } from "./openapi.ts"
import { openApiBytes } from "./openapi-thread.ts"

/** The routes of a server, and the document that describes them. */
export class ApiDescription {
  readonly #routes: DescribedRoute[] = []

  /** Records a route. */
  add({ method, url, schema }: RouteOptions): void {
    this.#routes.push({ method, url, ...(schema !== undefined && { schema }) })
  }

  /** The document as JSON, made anew. */
  bytes(): Promise<Buffer> {
    return openApiBytes(this.#routes)
  }
}
