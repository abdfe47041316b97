//go:build unix

package fold_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/test/cputime"
	"github.com/hotshard/hotshard/internal/test/require"
)

// nowhere is a client that accepts every update immediately.
type nowhere struct {
	fold.Client
	updates atomic.Int64
}

func (n *nowhere) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	n.updates.Add(1)
	return &dynamodb.UpdateItemOutput{}, nil
}

// BenchmarkBesideStock compares the handler with a stock one (see stock_test.go), in turns and without an
// engine. It reports medians of the process's CPU time, with garbage collection: other work on the machine
// distorts the wall clock.
func BenchmarkBesideStock(b *testing.B) {
	for _, kind := range []struct {
		name   string
		record func(random *rand.Rand, target uint64) string
		stock  func(ctx context.Context, client fold.Client, payload []byte) error
	}{
		{"counters", counterRecord, stockCounters},
		{"events", eventRecord, stockEvents},
	} {
		for _, size := range []struct {
			name           string
			records, bytes int
		}{{"100 records", 100, 0}, {"6 MB", 0, 5_900_000}} {
			b.Run(kind.name+"/"+size.name, func(b *testing.B) {
				compareWithStock(b, newDelivery(kind.record, size.records, size.bytes), kind.stock)
			})
		}
	}
}

// perTurn is the minimum number of records in a turn.
const perTurn = 5_000

func compareWithStock(b *testing.B, d *delivery, stock func(context.Context, fold.Client, []byte) error) {
	mine, theirs := new(nowhere), new(nowhere)
	settings := fold.Settings{RollupsTable: "rollups"}
	require.NoError(b, settings.Rules.UnmarshalText([]byte(`[{"every":"1h"}]`)))
	handler, err := fold.New(settings, mine, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	var ours, stocks turns
	for b.Loop() {
		ours.measure(b, d, func(payload []byte) error {
			answer, err := handler.Invoke(b.Context(), payload)
			if strings.Contains(string(answer), "itemIdentifier") {
				return fmt.Errorf("the handler answered %.200s", answer)
			}
			return err
		})
		stocks.measure(b, d, func(payload []byte) error { return stock(b.Context(), theirs, payload) })
	}
	if n := mine.updates.Load(); n == 0 || n != theirs.updates.Load() {
		b.Fatalf("%d updates, the stock handler made %d", n, theirs.updates.Load())
	}
	b.ReportMetric(0, "ns/op") // omits the time of both and of what is not measured
	b.ReportMetric(ours.median(), "ns/record")
	b.ReportMetric(stocks.median(), "stock-ns/record")
	b.ReportMetric(stocks.median()/ours.median(), "times-faster")
	b.ReportMetric(ours.allocs, "allocs/record")
	b.ReportMetric(stocks.allocs, "stock-allocs/record")
	b.ReportMetric(ours.bytes, "B/record")
	b.ReportMetric(stocks.bytes, "stock-B/record")
}

// turns has a handler's costs.
type turns struct {
	cpu           []float64 // ns a record, of each turn
	allocs, bytes float64   // a record, of the last turn
}

// measure measures a turn of new deliveries to a handler, from a heap without garbage.
func (t *turns) measure(b *testing.B, d *delivery, handle func(payload []byte) error) {
	n := max(1, perTurn/d.records)
	var cpu time.Duration
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		payload := d.renew()
		start := cputime.Used()
		require.NoError(b, handle(payload))
		cpu += cputime.Used() - start
	}
	runtime.ReadMemStats(&after)
	records := float64(n * d.records)
	t.cpu = append(t.cpu, float64(cpu)/records)
	t.allocs = float64(after.Mallocs-before.Mallocs) / records
	t.bytes = float64(after.TotalAlloc-before.TotalAlloc) / records
}

func (t *turns) median() float64 {
	slices.Sort(t.cpu)
	return t.cpu[len(t.cpu)/2]
}

// delivery is a payload whose numbers can be raised.
type delivery struct {
	payload []byte
	records int
	numbers []int // offsets of the numbers that go up from record to record
	next    int
}

// placeholder stands for such a number, with 16 digits.
const placeholder = "@@@@@@@@@@@@@@@@"

// newDelivery returns a payload with this number of records or bytes. Zipf's law draws the target of each record
// from 1,000.
func newDelivery(record func(*rand.Rand, uint64) string, records, bytes int) *delivery {
	random := rand.New(rand.NewPCG(1, 0))
	zipf := rand.NewZipf(random, 1.1, 1, 999)
	d := &delivery{payload: []byte(`{"Records":[`), next: 1_793_491_200_000_000}
	for d.records < records || len(d.payload) < bytes {
		if d.records > 0 {
			d.payload = append(d.payload, ',')
		}
		text := record(random, zipf.Uint64())
		for at := 0; strings.Contains(text[at:], placeholder); at += len(placeholder) {
			at += strings.Index(text[at:], placeholder)
			d.numbers = append(d.numbers, len(d.payload)+at)
		}
		d.payload = append(d.payload, text...)
		d.records++
	}
	d.payload = append(d.payload, `],"window":{"start":"2026-11-01T12:00:00Z","end":"2026-11-01T12:00:10Z"},"state":{},`+
		`"shardId":"shardId-00000001793491200000-0a1b2c3d","eventSourceARN":"`+streamARN+`","isFinalInvokeForWindow":false,"isWindowTerminatedEarly":false}`...)
	return d
}

// renew returns the payload with numbers above all earlier ones.
func (d *delivery) renew() []byte {
	for _, at := range d.numbers {
		d.next++
		copy(d.payload[at:], fmt.Sprint(d.next))
	}
	return d.payload
}
