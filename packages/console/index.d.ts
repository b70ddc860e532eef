/** Where the built console is: its `index.html` and assets, for a server to serve. Not there before the build. */
export const consoleDirectory: string
