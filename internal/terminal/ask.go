package terminal

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

// Is tells whether a file is a terminal; what is no file is none.
func Is(file any) bool {
	f, ok := file.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Ask puts a question, and waits for a line or for the end of ctx: then the reading goes on by
// itself, as nothing can stop it. The answer comes without spaces around it; at the input's end
// it is "".
func Ask(ctx context.Context, in io.Reader, out io.Writer, question string) (answer string, err error) {
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

// Progress returns a function that counts what is done on a bar, where out is a terminal, and one
// that ends the bar. A total that is not known is -1.
func Progress(out io.Writer, total int, what string) (add func(int), finish func()) {
	if !Is(out) {
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
	// A bar that can't be drawn is no reason to stop.
	return func(n int) { _ = bar.Add(n) }, func() { _ = bar.Finish() }
}
