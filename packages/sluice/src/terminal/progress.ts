import cliProgress from "cli-progress"
import type { PostFile } from "../import/input-lines.ts"
import type { Terminal } from "./terminal.ts"

/** A progress bar where one can be drawn; elsewhere only the notes. */
export interface Progress {
  note(text: string): void
  /** So many lines are sent. */
  update(lines: number): void
  end(): void
}

/** Progress through a file, on a terminal; `noun` names what is counted. */
export function createProgress(
  file: Pick<PostFile, "byteCount" | "bytesRead">,
  terminal: Pick<Terminal, "canvas" | "note">,
  noun = "lines",
): Progress {
  const { canvas } = terminal
  if (canvas === undefined) {
    return { note: (text) => terminal.note(text), update: () => undefined, end: () => undefined }
  }
  const isSized = file.byteCount !== undefined && file.byteCount > 0
  const bar = new cliProgress.SingleBar({
    format: isSized ? `{bar} {percentage}% · {lines} ${noun} · {eta_formatted} left` : `{lines} ${noun}`,
    barCompleteChar: "█",
    barIncompleteChar: "░",
    barsize: 30,
    hideCursor: true,
    clearOnComplete: true,
    gracefulExit: false,
    stream: canvas,
  })
  bar.start(isSized ? (file.byteCount ?? 1) : 1, 0, { lines: "0" })
  return {
    note(text) {
      // Over the bar, which draws itself again on the next line.
      canvas.write(`\r\u001B[K${text}\n`)
    },
    update(lines) {
      bar.update(isSized ? file.bytesRead() : 0, { lines: lines.toLocaleString("en") })
    },
    end: () => bar.stop(),
  }
}
