/** The whole body of a problem that its status alone identifies, as every route renders it. */
export function problemBody(status: number, title: string, detail: string, type = "about:blank"): unknown {
  const error = { title, type, detail, status, message: detail }
  return { ...error, errors: [error] }
}

/** The whole body of a request with faults: X's message and parameters, and our detail where there is one. */
export function faultsBody(
  faults: readonly {
    message: string
    parameters?: Readonly<Record<string, readonly string[]>>
    detail?: string
  }[],
): unknown {
  const head = { title: "Invalid Request", type: "https://api.x.com/2/problems/invalid-request", status: 400 }
  const details = faults.map(({ message, detail }) => (detail === undefined ? message : `${message}: ${detail}`))
  const detail = ["One or more parameters to your request was invalid.", ...details.map(sentence)].join(" ")
  const errors = faults.map(({ message, parameters = {} }, index) => ({
    ...head,
    detail: sentence(details[index] ?? ""),
    message,
    parameters,
  }))
  return { ...head, detail, message: detail, errors }
}

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`
}
