/** What `/openapi.json` is made of: the routes as they are registered. */
import type { RouteOptions } from "fastify"
import type { DescribedRoute } from "./openapi.ts"

/** The routes of a server, and the document that describes them. */
export class ApiDescription {
  readonly #routes: DescribedRoute[] = []

  /** Records a route. */
  add({ method, url, schema }: RouteOptions): void {
    this.#routes.push({ method, url, ...(schema !== undefined && { schema }) })
  }

  /** The document, made anew. What makes it is loaded with the first: a server is ready without it. */
  async document(): Promise<Record<string, unknown>> {
    const { openApiDocument } = await import("./openapi.ts")
    return openApiDocument(this.#routes)
  }
}
