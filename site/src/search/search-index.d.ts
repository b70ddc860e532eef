/** Made at the build, by `documentation/plugin.ts`. */
declare module "virtual:search-index" {
  /** The text of the index of all documents, for `openIndex`. */
  const text: string
  export default text
}
