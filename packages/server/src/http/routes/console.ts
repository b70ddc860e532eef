import { consolePath, docsPath } from "@sluice/api"
import type { FastifyReply, FastifyRequest } from "fastify"
import { createConsoleFiles, type ConsoleFile, type ConsolePage } from "../console/console-files.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { consoleNotBuilt } from "../present/pages.ts"
import { noSuchRoute } from "../problems.ts"

/** The console's pages and files. They hold no data: they request from the API what they show. */
export function consoleRoutes(
  server: HttpServer,
  { consoleDirectory, random }: Pick<HttpDeps, "consoleDirectory" | "random">,
): void {
  const files = createConsoleFiles(consoleDirectory)

  const send = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const path = (request.params as { "*"?: string })["*"] ?? ""
    const file = files.file(path)
    if (file !== undefined) return sendFile(file, request, reply)
    if (path.startsWith("assets/")) throw noSuchRoute(`${consolePath}/${path}`)
    return sendPage("index.html", reply)
  }

  const sendPage = (name: ConsolePage, reply: FastifyReply): FastifyReply => {
    const nonce = Buffer.from(random.bytes(16)).toString("base64")
    const page = files.page(name, nonce)
    void reply.headers(pageHeaders(name, nonce)).type("text/html; charset=utf-8")
    return page === undefined ? reply.code(404).send(consoleNotBuilt) : reply.send(page)
  }

  // A browser requests pages with any query. They are not part of the API's description.
  server.get(consolePath, { schema: { hide: true } }, send)
  server.get(`${consolePath}/*`, { schema: { hide: true } }, send)
  server.get(docsPath, { schema: { hide: true } }, async (_request, reply) => sendPage("docs.html", reply))
}

function sendFile(file: ConsoleFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const accepted = new Set((request.headers["accept-encoding"] ?? "").split(",").flatMap(acceptedCoding))
  const coding = (["br", "gzip"] as const).find((one) => accepted.has(one) && file.compressed[one] !== undefined)
  void reply.header("vary", "Accept-Encoding").type(file.type)
  if (file.isImmutable) void reply.header("cache-control", "public, max-age=31536000, immutable")
  if (coding !== undefined) void reply.header("content-encoding", coding)
  return reply.send(coding === undefined ? file.bytes : file.compressed[coding])
}

/** The name of a coding, unless its weight refuses it. Source: RFC 9110, 12.5.3. */
function acceptedCoding(item: string): readonly string[] {
  const [name = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase())
  return parameters.some((one) => /^q=0(?:\.0{0,3})?$/.test(one)) ? [] : [name]
}

/**
 * The page may load what this server has and nothing else; no script or style may stand in the page without the nonce.
 * The reference of the API is made by a library that writes styles into its elements.
 */
function pageHeaders(name: ConsolePage, nonce: string): Readonly<Record<string, string>> {
  return {
    "content-security-policy": [
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' ${name === "docs.html" ? "'unsafe-inline'" : `'nonce-${nonce}'`}`,
      "connect-src 'self'",
      "img-src 'self' data:",
      "font-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
  }
}
