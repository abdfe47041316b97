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

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/hotshard/hotshard/internal/test/browser"
	"github.com/hotshard/hotshard/internal/test/require"
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
const patience = 90 * time.Second

// timeZone is the browser's time zone, UTC+05:30.
const timeZone = "Asia/Kolkata"

// step is an action without a value.
type step = chromedp.Action[chromedp.Void]

// call returns the step that runs a protocol command.
func call[P, R any](command cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	})
}

// open opens a tab of this size, whose clock starts at noon. It fails the test if there is no browser.
func open(t *testing.T, width, height int64) *tab {
	t.Helper()
	return openTab(t, width, height, fmt.Sprintf("Date.now = () => %d + performance.now()", noon.UnixMilli()))
}

// openTab opens a tab of this size. The script first runs before the scripts of each page.
func openTab(t *testing.T, width, height int64, first string) *tab {
	t.Helper()
	require.Browser(t)
	shared.once.Do(startShared)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	p := &tab{t: t}
	var stop context.CancelFunc
	// The tab has a window of its own, since a hidden tab does not poll.
	p.ctx, stop = chromedp.NewContext(shared.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.record))
	t.Cleanup(stop)
	late := time.AfterFunc(patience, stop)
	err := chromedp.Do(p.ctx) // opens the tab, which p.ctx closes
	late.Stop()
	if err != nil {
		t.Fatalf("no tab opened: %v", err)
	}
	p.do(call(log.Enable, cdp.Empty{}), call(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: first}),
		inZone(timeZone), chromedp.EmulateViewport(width, height), prefers("light"))
	return p
}

// record adds the page's exceptions and logged errors to the tab's faults.
func (p *tab) record(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.fault((&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			p.fault(fmt.Sprintf("%s %s", e.Entry.Text, e.Entry.URL))
		}
	}
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

func prefers(theme string) step {
	return call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
}

func inZone(name string) step {
	return call(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name})
}

// do runs steps in the tab, and fails the test if one fails.
func (p *tab) do(steps ...step) {
	p.t.Helper()
	run(p, chromedp.Steps(steps...))
}

// run returns the value of an action in the tab, and fails the test if the action fails.
func run[T any](p *tab, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	out, err := chromedp.Run(ctx, action)
	if err != nil {
		p.t.Fatalf("%v; the page logged %q and shows %.900s", err, p.faults, p.text())
	}
	return out
}

// text returns the page's visible text, or "" if it can't be read.
func (p *tab) text() string {
	ctx, stop := context.WithTimeout(p.ctx, time.Second)
	defer stop()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("document.visibilityState + \" \" + document.body.innerText"))
	return text
}

// script returns the step that runs a script in the page.
func script(text string) step { return chromedp.Evaluate[chromedp.Void](text) }

// value evaluates an expression in the page.
func value[T any](p *tab, expression string, options ...chromedp.EvaluateOption) T {
	p.t.Helper()
	return run(p, chromedp.Evaluate[T](expression, options...))
}

// until waits until an expression is true.
func (p *tab) until(expression string) {
	p.t.Helper()
	run(p, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(patience)))
}

// shows waits until the page shows a text.
func (p *tab) shows(text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}
