// Package browser starts a Chromium that tests drive over the DevTools protocol: one that is
// fetched once from npm, or else the machine's own.
package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
)

// Variable is the environment variable with the browser's program. Its value None excludes
// tests that need a browser.
const (
	Variable = "HOTSHARD_BROWSER"
	None     = "none"
)

// Install is the command that installs a browser.
const Install = "sudo apt-get install -y chromium, brew install --cask google-chrome, or sudo dnf install -y chromium"

// names has a program's name or path in each line. need.sh reads it, too.
//
//go:embed names.txt
var names string

// program is a browser that can be started.
type program struct {
	path string
	env  []string
}

// installed returns the browsers of this machine.
func installed() []program {
	candidates := strings.Split(strings.TrimSpace(names), "\n")
	if path := os.Getenv(Variable); path != "" {
		candidates = []string{path}
	}
	var found []program
	for _, name := range candidates {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, program{path: path})
		}
	}
	return found
}

// fetchTime bounds the fetch if there is another browser.
const fetchTime = time.Minute

// startTime bounds the start of a browser, which takes a second on an idle machine.
const startTime = 30 * time.Second

// Start starts the first browser that works: the fetched one, which takes a third of an installed
// Chromium's processor time, or else one of the machine's. ctx bounds the fetch and the start. It
// returns chromedp's context and stop, which ends the browser. A download is announced on notice,
// which may be nil.
func Start(ctx context.Context, notice io.Writer, options ...chromedp.ExecAllocatorOption) (browser context.Context, stop func(), err error) {
	var failures error
	candidates := installed()
	if os.Getenv(Variable) == "" {
		fetching, cancel := ctx, context.CancelFunc(func() {})
		if len(candidates) > 0 {
			fetching, cancel = context.WithTimeout(ctx, fetchTime)
		}
		p, err := fetch(fetching, notice)
		cancel()
		if err == nil {
			candidates = slices.Insert(candidates, 0, p)
		}
		failures = err
	}
	for _, p := range candidates {
		if browser, stop, err = p.start(ctx, options); err == nil {
			return browser, stop, nil
		}
		failures = errors.Join(failures, fmt.Errorf("start %s: %w", p.path, err))
	}
	return nil, nil, fmt.Errorf("no Chromium works here. Install one with %s.\n%w", Install, failures)
}

// preset are variables that Chromium sets when it starts. If one is new, the environment moves in memory, perhaps while
// another thread reads it, and Chromium crashes: 9 of 80 starts did.
var preset = []string{"DBUS_SESSION_BUS_ADDRESS=disabled:", "FC_FONTATIONS=1"}

// start starts the browser within startTime, and before ctx ends.
func (p program) start(ctx context.Context, options []chromedp.ExecAllocatorOption) (context.Context, func(), error) {
	life, end := context.WithCancelCause(context.Background())
	starting, started := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("no answer within %v", startTime))
	defer started()
	defer context.AfterFunc(starting, func() { end(context.Cause(starting)) })()

	all := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(p.path), chromedp.Env(slices.Concat(p.env, preset)...),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("in-process-gpu", true)) // one process less
	browser, stopProcess := chromedp.NewExecAllocator(life, append(all, options...)...)
	// A browser newer than chromedp would make it log errors.
	browser, stopBrowser := chromedp.NewContext(browser, chromedp.WithErrorf(func(string, ...any) {}))
	stop := func() { stopBrowser(); stopProcess(); end(nil) }
	if err := chromedp.Do(browser); err != nil {
		if cause := context.Cause(life); cause != nil {
			err = cause
		}
		stop()
		return nil, nil, err
	}
	return browser, stop, nil
}
