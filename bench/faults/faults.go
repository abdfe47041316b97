// Package faults measures what a request that is wrong in as many ways as it has room
// for costs: time, CPU, and bytes of the refusal. The requests go to the real handler of
// the writes, in the process; none gets as far as the service. CPU is that of the whole
// process, the garbage collector's included.
package faults

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
)

// Program is the experiment.
var Program = rig.Program{Name: "faults", About: "what requests that are wrong cost", Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	most := f.Int("members", 300_000, "unknown members of the largest request; about 3 MB")
	return func(_ context.Context, r *rig.Run) error {
		fmt.Fprint(r, columns)
		handler := httpapi.New(rig.Silent, ingest.Routes(nil))
		for _, c := range calls(*most) {
			c.measure(r, handler)
		}
		return nil
	}
}}

// call is one request.
type call struct{ name, path, body string }

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
	began, used := time.Now(), rig.CPU()
	handler.ServeHTTP(answer, request)
	fmt.Fprintf(w, "| %s | %d KB | %.0f ms | %.0f ms | %d | %d B |\n",
		c.name, len(c.body)/1024, rig.Millis(time.Since(began)), rig.Millis(rig.CPU()-used), answer.Code, answer.Body.Len())
}
