package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// isTerminal reports whether a value is a file that is a terminal.
func isTerminal(file any) bool {
	f, ok := file.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalSize returns the columns and lines of a terminal; zeros for anything else.
func terminalSize(file any) (width, height int) {
	if !isTerminal(file) {
		return 0, 0
	}
	width, height, err := term.GetSize(int(file.(*os.File).Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// progressBar returns the functions that advance and end a progress bar, which do nothing if out is not a terminal. The bar
// counts up to a total; -1 is an unknown total. description says what is counted, such as items, or done.
func progressBar(out io.Writer, total int, description string) (add func(int), finish func()) {
	if !isTerminal(out) {
		return func(int) {}, func() {}
	}
	bar := progressbar.NewOptions(total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(description),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
	// A bar that can't be drawn does not stop the work.
	return func(n int) { _ = bar.Add(n) }, func() { _ = bar.Finish() }
}
