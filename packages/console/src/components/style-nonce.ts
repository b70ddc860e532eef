/** The nonce of the page's content security policy, for style sheets that CodeMirror and the components add. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? ""
}
