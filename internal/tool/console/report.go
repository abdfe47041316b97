package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
)

// Report makes the one-file page of hotshard report: its data, its script and its style are in
// it, and it asks for nothing. Data is a report.Data. The error is of data that has no JSON.
func Report(data any) ([]byte, error) {
	// With <, >, & and the separators of lines as escapes, whatever a key has: nothing in the
	// data can end its element.
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("a report's data: %w", err)
	}
	script, style := must(fs.ReadFile(bundle, "dist/console.js")), must(fs.ReadFile(bundle, "dist/report.css"))
	licences := must(fs.ReadFile(bundle, "dist/LICENSES.txt"))
	var page bytes.Buffer
	fmt.Fprintf(&page, reportHead, hash(script), hash(style), style)
	fmt.Fprintf(&page, reportBody, html.EscapeString(string(licences)), text, script)
	return page.Bytes(), nil
}

// hash is how a Content-Security-Policy names what it lets run.
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
<main id="main"><noscript><p class="notice">The report is drawn by the script in this file, which the browser does not run.</p></noscript></main>
<details><summary>Licences of what the script is made of</summary><pre tabindex="0">%s</pre></details>
<script type="application/json" id="data">%s</script>
<script>%s</script>
</body>
</html>
`
