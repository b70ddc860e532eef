/** The HTML that the server itself writes. */

/** The page at `/`. It mentions metrics only where there are some. */
export function presentHome({ servesMetrics }: { readonly servesMetrics: boolean }): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sluice</title>
<h1>Sluice</h1>
<p>The filtered stream that you run yourself. Its API is that of X API v2: send posts, add rules, and every match goes to
webhooks and down stream connections. It fetches nothing from X.</p>
<p>This is an API, to be called with a bearer token. For a first call see the README, or what <code>sluice dev</code>
printed when it started.</p>
<ul>
<li><a href="/console">/console</a>: what happens here, as pages</li>
<li><a href="/docs">/docs</a>: every path of the API, to read and to try</li>
<li><a href="/openapi.json">/openapi.json</a>: every path, parameter and response (OpenAPI 3.1)</li>
<li><a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>: is the server alive, and does it serve requests?</li>
${servesMetrics ? '<li><a href="/metrics">/metrics</a>: for Prometheus</li>\n' : ""}\
<li><code>README.md</code>, <code>docs/rules.md</code>, <code>docs/delivery.md</code>,
<code>docs/compatibility.md</code>: in the source, for people</li>
</ul>
`
}

/** The page that stands in for a console that is not built. */
export const consoleNotBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sluice</title>
<h1>The console is not built</h1>
<p>The API works. To build the console, run this in the checkout and load this page again:</p>
<pre>npm run build -w @sluice/console</pre>
`
