package console

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
)

// TestAPIReferenceKeepsItsPolicy checks that the page at /docs shows and sends calls within its Content-Security-Policy.
func TestAPIReferenceKeepsItsPolicy(t *testing.T) {
	server := httptest.NewServer(query.WithDocs(httpapi.New(slog.New(slog.DiscardHandler))))
	t.Cleanup(server.Close)
	p := open(t, 1200, 900)
	p.do(chromedp.Navigate(server.URL + "/docs"))
	p.shows("/healthz")
	p.do(chromedp.Click(chromedp.CSS(".opblock-summary-control")))
	p.shows("Responses")
	p.do(chromedp.Click(chromedp.CSS(".try-out__btn")), chromedp.Click(chromedp.CSS(".execute")))
	p.shows("\"status\": \"ok\"")
	p.healthy()
}
