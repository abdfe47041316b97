package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
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

// ask prints a question and returns the next line without surrounding spaces, or "" at the input's end. It returns
// ctx's error when ctx ends, while the read continues in the background.
func ask(ctx context.Context, in io.Reader, out io.Writer, question string) (answer string, err error) {
	fmt.Fprint(out, question)
	type line struct {
		text string
		err  error
	}
	answered := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(in).ReadString('\n')
		answered <- line{text, err}
	}()
	select {
	case l := <-answered:
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", fmt.Errorf("reading the answer: %w", l.err)
		}
		return strings.TrimSpace(l.text), nil
	case <-ctx.Done():
		fmt.Fprintln(out)
		return "", ctx.Err()
	}
}

// progressBar returns a function that advances a progress bar and one that ends it. They do nothing if out is not a
// terminal. An unknown total is -1.
func progressBar(out io.Writer, total int, what string) (add func(int), finish func()) {
	if !isTerminal(out) {
		return func(int) {}, func() {}
	}
	bar := progressbar.NewOptions(total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
	// A bar that can't be drawn does not stop the work.
	return func(n int) { _ = bar.Add(n) }, func() { _ = bar.Finish() }
}
