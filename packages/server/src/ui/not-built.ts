/** What stands at `/ui/` while the page was not built. */
export const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Reins</title>
<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 4rem auto; padding: 0 1rem">
<h1>Reins is up</h1>
<p>The inspector was not built here. In the repository, build it once and reload this page:</p>
<pre>npm run build --workspace packages/inspector</pre>
<p>Everything else works without it: <code>reins --help</code>, and the API that <a href="/openapi.json">/openapi.json</a> describes.</p>
</body>
</html>
`;
