package console

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/hotshard/hotshard/internal/test/browser"
	"github.com/hotshard/hotshard/internal/test/lane"
)

// TestMain ends the browser that tests share.
func TestMain(m *testing.M) {
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	os.Exit(code)
}

// shared is the browser of all tests. Each test has a tab of its own.
var shared struct {
	once sync.Once
	ctx  context.Context
	stop func()
	err  error
}

func startShared() {
	shared.ctx, shared.stop, shared.err = browser.Start(context.Background(), os.Stderr,
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("font-render-hinting", "none"))
}

// tab is one of the browser's, and what went wrong in it.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string // exceptions, and what the console of the browser calls an error
}

// patience bounds each wait for the page, also on a machine that is busy with other tests.
const patience = 45 * time.Second

// timeZone is the browser's: 5:30 h ahead of UTC.
const timeZone = "Asia/Kolkata"

// open starts a tab of this size, for which it is noon. Without a browser the test fails.
func open(t *testing.T, width, height int64) *tab {
	t.Helper()
	return openTab(t, width, height, fmt.Sprintf("Date.now = () => %d + performance.now()", noon.UnixMilli()))
}

// openTab is the same with a script that runs before those of its pages.
func openTab(t *testing.T, width, height int64, first string) *tab {
	t.Helper()
	lane.NeedsBrowser(t)
	shared.once.Do(startShared)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	ctx, stop := chromedp.NewContext(shared.ctx, chromedp.WithNewBrowserContext()) // a window of its own: a tab behind another is hidden, and does not poll
	t.Cleanup(stop)
	p := &tab{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			p.fault(e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError {
				p.fault(fmt.Sprintf("%s %s", e.Entry.Text, e.Entry.URL))
			}
		}
	})
	p.do(log.Enable(), chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(first).Do(ctx)
		return err
	}), emulation.SetTimezoneOverride(timeZone), emulation.SetDeviceMetricsOverride(width, height, 1, false), prefers("light"))
	return p
}

func (p *tab) fault(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, text)
}

// healthy fails the test if anything went wrong in the page but what is expected.
func (p *tab) healthy(expected ...string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fault := range p.faults {
		known := false
		for _, e := range expected {
			known = known || strings.Contains(fault, e)
		}
		if !known {
			p.t.Errorf("in the page: %s", fault)
		}
	}
}

func prefers(theme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}})
}

func (p *tab) do(actions ...chromedp.Action) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	if p.ctx.Err() == nil && chromedp.FromContext(p.ctx).Target == nil {
		ctx = p.ctx // the first run makes the tab, which ends with its context
	}
	if err := chromedp.Run(ctx, actions...); err != nil {
		p.t.Fatalf("%v; in the page: %q; it shows: %.900s", err, p.faults, p.text())
	}
}

// text is what a person reads.
func (p *tab) text() (text string) {
	ctx, stop := context.WithTimeout(p.ctx, time.Second)
	defer stop()
	_ = chromedp.Run(ctx, chromedp.Evaluate("document.visibilityState + \" \" + document.body.innerText", &text)) // "" will do for an error's text
	return text
}

// value is an expression's in the page.
func value[T any](p *tab, expression string) (out T) {
	p.t.Helper()
	p.do(chromedp.Evaluate(expression, &out))
	return out
}

// until waits for an expression to hold.
func (p *tab) until(expression string) {
	p.t.Helper()
	var held bool
	p.do(chromedp.Poll(expression, &held, chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(patience)))
}

// shows waits until the page has a text.
func (p *tab) shows(text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}
