package load

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// MaxLogLine is the maximum length of a log's line, in bytes without the line feed.
const MaxLogLine = 64 << 10

// LogSource returns the requests of the access log at path, in the combined or common log format, plain or gzipped. A count
// above 0 limits the number of requests. LogSource reads the file once, so that a malformed line is an error before anything
// is sent. It keeps no lines in memory. Errors name the file, and the number of the malformed line.
func LogSource(path string, count int) (Source, error) {
	source := Source{Name: "access log " + path, Timed: true}
	source.Requests = func() iter.Seq2[Request, error] { return readLogFile(path, count) }
	for _, err := range source.Requests() {
		if err != nil {
			return Source{}, err
		}
		source.Total++
	}
	if source.Total == 0 {
		return Source{}, fmt.Errorf("access log %s has no requests: want at least one line", path)
	}
	return source, nil
}

// readLogFile yields the first count requests of an access log, or all if count is 0.
func readLogFile(path string, count int) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(Request{}, fmt.Errorf("access log: %w", err))
			return
		}
		defer file.Close()
		yielded := 0
		for request, err := range ReadLog(path, file) {
			yielded++
			if !yield(request, err) || err != nil || yielded == count {
				return
			}
		}
	}
}

// ReadLog yields the requests of an access log, plain or gzipped, without empty lines. It ends after an error:
// "name:line: ...", or "name: ..." if the log can't be decompressed.
//
// A request's ID has the line's number and 12 hex digits of the line's SHA-256 digest. Lines with the same text have
// different IDs, and a second read of the log returns the same IDs.
func ReadLog(name string, log io.Reader) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		text, err := decompress(log)
		if err != nil {
			yield(Request{}, fmt.Errorf("%s: %w", name, err))
			return
		}
		lines := bufio.NewScanner(text)
		lines.Buffer(make([]byte, 0, 4<<10), MaxLogLine+1) // with the line feed
		number := 0
		for lines.Scan() {
			number++
			line := lines.Text()
			if line == "" {
				continue
			}
			request, err := ParseLogLine(line)
			if cut := lines.Err(); err != nil && cut != nil { // the line is incomplete
				err = fmt.Errorf("reading: %w", cut)
			}
			if err != nil {
				yield(Request{}, fmt.Errorf("%s:%d: %w", name, number, err))
				return
			}
			request.ID = lineID(number, line)
			if !yield(request, nil) {
				return
			}
		}
		if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(Request{}, fmt.Errorf("%s:%d: the line is longer than %d bytes", name, number+1, MaxLogLine))
		} else if err != nil {
			yield(Request{}, fmt.Errorf("%s:%d: reading: %w", name, number+1, err))
		}
	}
}

// decompress returns the log's text. It detects gzip by the first two bytes.
func decompress(log io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(log)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if string(magic) != "\x1f\x8b" {
		return buffered, nil
	}
	unzipped, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("reading as gzip: %w", err)
	}
	return unzipped, nil
}

func lineID(number int, line string) string {
	digest := sha256.Sum256([]byte(line))
	return fmt.Sprintf("%08d-%x", number, digest[:6])
}
