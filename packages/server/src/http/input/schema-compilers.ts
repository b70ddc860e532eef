/** The part of Fastify's options that keeps it from loading compilers of schemas: each server sets its own. */
import type { FastifyServerOptions } from "fastify"

const isSet = (): never => {
  throw new Error("The compilers of schemas are set before the first route.")
}

/** For servers on which a validator compiler and a serializer compiler are set. */
export const schemaController = {
  compilersFactory: { buildValidator: isSet, buildSerializer: isSet },
} satisfies FastifyServerOptions["schemaController"]
