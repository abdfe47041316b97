package console

import (
	"context"
	"fmt"
	"os"
	"slices"
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

// TestMain closes the browser that all tests share.
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

// tab is a browser tab, with the errors in it.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string // exceptions and errors in the browser's log
}

// patience bounds each wait for the page, even on a busy machine.
const patience = 45 * time.Second

// timeZone is the browser's time zone, UTC+05:30.
const timeZone = "Asia/Kolkata"

// open opens a tab of this size, whose clock starts at noon. It fails the test if there is no browser.
func open(t *testing.T, width, height int64) *tab {
	t.Helper()
	return openTab(t, width, height, fmt.Sprintf("Date.now = () => %d + performance.now()", noon.UnixMilli()))
}

// openTab opens a tab of this size. The script first runs before the scripts of each page.
func openTab(t *testing.T, width, height int64, first string) *tab {
	t.Helper()
	lane.NeedsBrowser(t)
	shared.once.Do(startShared)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	ctx, stop := chromedp.NewContext(shared.ctx, chromedp.WithNewBrowserContext()) // in a window of its own, since a hidden tab does not poll
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

// healthy fails the test if the page had an error that contains none of the expected texts.
func (p *tab) healthy(expected ...string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fault := range p.faults {
		if !slices.ContainsFunc(expected, func(e string) bool { return strings.Contains(fault, e) }) {
			p.t.Errorf("the page logged: %s", fault)
		}
	}
}

func prefers(theme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}})
}

// do runs actions in the tab, and fails the test if one fails.
func (p *tab) do(actions ...chromedp.Action) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	if p.ctx.Err() == nil && chromedp.FromContext(p.ctx).Target == nil {
		ctx = p.ctx // the first run opens the tab, which this context closes
	}
	if err := chromedp.Run(ctx, actions...); err != nil {
		p.t.Fatalf("%v; the page logged %q and shows %.900s", err, p.faults, p.text())
	}
}

// text returns the page's visible text, or "" if it can't be read.
func (p *tab) text() (text string) {
	ctx, stop := context.WithTimeout(p.ctx, time.Second)
	defer stop()
	_ = chromedp.Run(ctx, chromedp.Evaluate("document.visibilityState + \" \" + document.body.innerText", &text))
	return text
}

// value evaluates an expression in the page.
func value[T any](p *tab, expression string) (out T) {
	p.t.Helper()
	p.do(chromedp.Evaluate(expression, &out))
	return out
}

// until waits until an expression is true.
func (p *tab) until(expression string) {
	p.t.Helper()
	var held bool
	p.do(chromedp.Poll(expression, &held, chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(patience)))
}

// shows waits until the page shows a text.
func (p *tab) shows(text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}
