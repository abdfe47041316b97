// Command faults measures what a request that is wrong in as many ways as it has room
// for costs: time, CPU, and bytes of the refusal.
//
//	go run ./internal/experiment/faults > docs/performance/faults.txt
//
// The requests go to the real handler of the writes, in the process; none gets as far as
// the service. CPU is that of the whole process, the garbage collector's included.
package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
)

func main() {
	most := flag.Int("members", 300_000, "unknown members of the largest request; about 3 MB")
	flag.Parse()
	if flag.NArg() > 0 || *most < 1 {
		flag.Usage()
		os.Exit(2)
	}
	measureAll(os.Stdout, *most)
}

// call is one request.
type call struct{ name, path, body string }

func measureAll(w io.Writer, most int) {
	fmt.Fprintf(w, "go run ./internal/experiment/faults -members %d\n%s, %s, %d cores\n\n%s",
		most, time.Now().UTC().Format("2006-01-02T15:04Z"), runtime.Version(), runtime.NumCPU(), columns)
	handler := httpapi.New(slog.New(slog.DiscardHandler), ingest.Routes(nil))
	for _, c := range calls(most) {
		c.measure(w, handler)
	}
}

const columns = `| request | body | wall | CPU | status | refusal |
| --- | ---: | ---: | ---: | ---: | ---: |
`

// calls lists those that an unbounded refusal was found with, and their likes.
func calls(most int) (list []call) {
	for _, n := range []int{2_000, 10_000, 20_000, 40_000, 300_000} {
		if n > most {
			continue
		}
		list = append(list,
			call{fmt.Sprintf("%d unknown members in an item", n), "/v1/counters", `{"increments":[{"counter":"a","delta":1,` + members(n) + `}]}`},
			call{fmt.Sprintf("%d unknown members at the top", n), "/v1/limits", `{"key":"a","limit":1,"window":"1h",` + members(n) + `}`})
	}
	item := `{"counter":"a","delta":1,` + members(300) + `}`
	return append(list,
		call{"500 items with 300 unknown members each", "/v1/counters", items(item, 500)},
		call{"100000 items that are none", "/v1/counters", items(`0`, 100_000)},
		call{"100000 items without a member", "/v1/counters", items(`{}`, 100_000)},
		call{"a list of 3 MB that should be a text", "/v1/limits", `{"key":[` + strings.Repeat("0,", 1_500_000) + `0],"limit":1,"window":"1h"}`},
		call{"40000 names with control characters", "/v1/counters", items(`{"counter":"\u0000","delta":1}`, 40_000)})
}

func members(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `,"%x":0`, i)
	}
	return text.String()[1:]
}

func items(one string, n int) string {
	return `{"increments":[` + strings.Repeat(one+",", n-1) + one + `]}`
}

func (c call) measure(w io.Writer, handler http.Handler) {
	request := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body))
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	runtime.GC()
	began, used := time.Now(), cpu()
	handler.ServeHTTP(answer, request)
	fmt.Fprintf(w, "| %s | %d KB | %.0f ms | %.0f ms | %d | %d B |\n",
		c.name, len(c.body)/1024, ms(time.Since(began)), ms(cpu()-used), answer.Code, answer.Body.Len())
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// cpu is what the process has used so far.
func cpu() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err) // it takes no other arguments
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
