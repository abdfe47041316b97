package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
)

// Report returns the HTML file of hotshard report. It contains data (a report.Data), script and style, so that the page
// makes no request. The error means that data can't be marshaled.
func Report(data any) ([]byte, error) {
	// Marshal escapes <, >, & and line separators, so that no key can end the script element.
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encoding the report: %w", err)
	}
	script, style := asset("dist/console.js"), asset("dist/report.css")
	var page bytes.Buffer
	fmt.Fprintf(&page, reportHead, hash(script), hash(style), style)
	fmt.Fprintf(&page, reportBody, html.EscapeString(string(asset("dist/LICENSES.txt"))), text, script)
	return page.Bytes(), nil
}

// hash returns the Content-Security-Policy source of a script or style.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

const reportHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Heat</title>
<link rel="icon" href="data:,">
<style>%s</style>
</head>
`

const reportBody = `<body>
<header>
<h1>hotshard report</h1>
<p id="where" class="quiet"></p>
<div class="tools"><button type="button" id="theme">Dark</button></div>
</header>
<main id="main"><noscript><p class="notice">The script in this file draws the report, and the browser does not run it. Allow scripts and reload.</p></noscript></main>
<details><summary>Licences of the packages in the script</summary><pre tabindex="0">%s</pre></details>
<script type="application/json" id="data">%s</script>
<script>%s</script>
</body>
</html>
`
