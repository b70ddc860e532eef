/** The nonce under which the server lets this page add style sheets. CodeMirror and the components need it. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? ""
}
