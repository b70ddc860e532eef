/** Advice for errors of connections by TCP and TLS, by their codes. Source: Node.js, "Common system errors"; OpenSSL. */

const signAdvice = "Set caFile to the certificate of the authority that has signed the server's."

const adviceByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Start the server, or correct url.",
  ENOTFOUND: "Correct the host of url.",
  EAI_AGAIN: "The host of url cannot be looked up: check DNS.",
  ENOENT: "Correct the path of the file.",
  EACCES: "Allow the user of the process to read the file.",
  DEPTH_ZERO_SELF_SIGNED_CERT: signAdvice,
  SELF_SIGNED_CERT_IN_CHAIN: signAdvice,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: signAdvice,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: signAdvice,
  CERT_HAS_EXPIRED: "Renew the certificate of the server.",
  ERR_TLS_CERT_ALTNAME_INVALID: "Set url to a name that the certificate of the server holds.",
}

/** A sentence that says what to do about a connection that failed; `undefined` when none is known. */
export function connectionAdvice(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === "string" ? adviceByCode[code] : undefined
}
