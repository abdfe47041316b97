package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"runtime/pprof"

	"github.com/hotshard/hotshard/internal/ddbstream"
)

func TestScratch(t *testing.T) {
	want := os.Getenv("CASE")
	for _, c := range cases() {
		if !strings.Contains(c.name, want) { continue }
		c.records = 200
		payload, _ := c.payload()
		var d ddbstream.Decoder
		count := newHotshard()
		best := func(f func()) time.Duration {
			b := time.Hour
			for range 3000 {
				s := time.Now()
				f()
				b = min(b, time.Since(s))
			}
			return b / time.Duration(c.records)
		}
		if p := os.Getenv("PROF"); p != "" { f, _ := os.Create(p); pprof.StartCPUProfile(f); defer pprof.StopCPUProfile() }
		var st time.Duration
		if os.Getenv("STOCK") != "" { sc := newStock(); st = time.Hour; for range 30 { s := time.Now(); sc(payload); st = min(st, time.Since(s)/time.Duration(c.records)) } }
		fmt.Println(c.name, len(payload)/c.records, "decode", best(func() { d.Decode(payload) }), "all", best(func() { count(payload) }), "stock", st)
	}
}
