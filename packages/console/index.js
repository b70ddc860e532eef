import { fileURLToPath } from "node:url"

export const consoleDirectory = fileURLToPath(new URL("dist", import.meta.url))
