package rebuild_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// fragment adds a closed stream shard's fragment to a board's histogram.
func (r *eraseRig) fragment(t *testing.T, name string, n int, cells []byte) {
	t.Helper()
	pk, sk := schema.HistogramKey(name, "all", fmt.Sprint("gone", n))
	enginetest.Put(t, r.db, r.names.Rollups, item{
		"pk": dynamo.String(pk), "sk": dynamo.String(sk),
		"v": num(1), "seq": dynamo.String(strings.Repeat("0", schema.RollupSequenceDigits)), "as_of": num(1), "cells": &types.AttributeValueMemberB{Value: cells},
	})
}

// cells returns a stored histogram with this number of entries of one score.
func cells(t *testing.T, times int64) []byte {
	t.Helper()
	var h parts.Histogram
	score, err := boards.ParseScore("77")
	require.NoError(t, err)
	h.AddMerit(score, times)
	return h.Bytes()
}

// TestDamagedBoards deletes boards with an unreadable or wrong top or histogram, with more fragments than a transaction takes,
// or with a fragment that has expired or expires soon.
func TestDamagedBoards(t *testing.T) {
	t.Parallel()
	r := newEraseRig(t)
	expire := func(at time.Duration) func(string) {
		return func(name string) {
			r.fragment(t, name, 0, cells(t, 1))
			pk, sk := schema.HistogramKey(name, "all", "gone0")
			enginetest.Update(t, r.db, r.names.Rollups, pk, sk, "SET expires_at = :x", item{":x": num(time.Now().Add(at).Unix())})
		}
	}
	damage := map[string]func(string){
		"expired": expire(-time.Minute), "expiring": expire(5 * time.Minute),
		"top": func(name string) {
			enginetest.Update(t, r.db, r.names.Rollups, schema.BoardRollupKey(name, "all"), schema.TopSK,
				"SET places = :b", item{":b": &types.AttributeValueMemberB{Value: []byte{9, 9}}})
		},
		"wrong cells": func(name string) { r.fragment(t, name, 0, cells(t, 1)) },
		"unreadable":  func(name string) { r.fragment(t, name, 0, []byte{9, 9}) },
		"fragments": func(name string) {
			for i := range 120 {
				r.fragment(t, name, i, cells(t, int64(1-i%2*2)))
			}
		},
	}
	for name := range damage {
		r.submit(t, name, 5, 1)
	}
	r.run(t, false)()
	for name, do := range damage {
		do(name)
	}
	stop := r.run(t, false)
	defer stop()
	o := r.options()
	o.Wait = 10 * time.Second
	var all sync.WaitGroup
	for name := range damage {
		all.Go(func() {
			report, err := rebuild.NewEraser(o, r.db).Key(t.Context(), base(schema.Board, name))
			if err != nil || len(report.Left) > 0 || len(report.Kept) > 0 {
				t.Errorf("damaged %s: %+v, %v; want nothing left and kept", name, report, err)
			}
			r.wantNothing(t, "L#"+name, "of the board with damaged "+name)
		})
	}
	all.Wait()
}
