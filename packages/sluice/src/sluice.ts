/** The command as a process. Exit status: see `program.ts`. */
import { readEnvironment } from "./environment.ts"
import { runProgram } from "./program.ts"

const { stdin, stdout, stderr } = process
process.exitCode = await runProgram(process.argv.slice(2), {
  environment: readEnvironment(),
  stdin,
  stdout,
  stderr,
})
