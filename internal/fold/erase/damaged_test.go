package erase_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/counters"
)

// part adds a part to a board's histogram, as of a stream shard that is closed.
func (r *rig) part(t *testing.T, name string, n int, cells []byte) {
	t.Helper()
	pk, sk := schema.HistogramKey(name, "all", fmt.Sprint("gone", n))
	_, err := r.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &r.names.Rollups, Item: item{
		"pk": str(pk), "sk": str(sk),
		"v": num(1), "seq": str(strings.Repeat("0", schema.RollupSequenceDigits)), "as_of": num(1), "cells": &types.AttributeValueMemberB{Value: cells},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// cells is a histogram with one score so many times.
func cells(t *testing.T, times int64) []byte {
	t.Helper()
	var h board.Histogram
	score, err := boards.ParseScore("77")
	if err != nil {
		t.Fatal(err)
	}
	h.AddScore(score, times)
	return h.Bytes()
}

// TestDamagedBoards: boards whose top, or histogram, can't be read or lacks a record,
// or has more parts than a transaction takes.
func TestDamagedBoards(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	damage := map[string]func(string){
		"top": func(name string) {
			_, err := r.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: &r.names.Rollups, Key: item{"pk": str(schema.BoardRollupKey(name, "all")), "sk": str(schema.TopSK)},
				UpdateExpression: aws.String("SET places = :b"), ExpressionAttributeValues: item{":b": &types.AttributeValueMemberB{Value: []byte{9, 9}}},
			})
			if err != nil {
				t.Fatal(err)
			}
		},
		"sum": func(name string) {
			_, err := r.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &r.names.Rollups, Item: item{
				"pk": str(schema.BoardRollupKey(name, "all")), "sk": str(schema.SumSK),
				"v": num(1), "seq": str("1"), "as_of": num(1), "cells": &types.AttributeValueMemberB{Value: cells(t, 1)},
			}})
			if err != nil {
				t.Fatal(err)
			}
		},
		"lacking":    func(name string) { r.part(t, name, 0, cells(t, 1)) },
		"unreadable": func(name string) { r.part(t, name, 0, []byte{9, 9}) },
		"parts": func(name string) {
			for i := range 120 {
				r.part(t, name, i, cells(t, int64(1-i%2*2)))
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
			report, err := r.eraser(t, r.db, o).Key(t.Context(), base(kind.Board, name))
			if err != nil || len(report.Left) > 0 || len(report.Kept) > 0 {
				t.Errorf("%s: %+v, %v", name, report, err)
			}
			if left := r.leftovers(t, "L#"+name); len(left) > 0 {
				t.Errorf("%s: left:\n%s", name, strings.Join(left, "\n"))
			}
		})
	}
	all.Wait()
}

// TestPlayerStaysInTheTop: as long as the aggregator is off, also when it is asked again
// and the entries are gone.
func TestPlayerStaysInTheTop(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.submit(t, "g", 5, 1)
	r.run(t, false)()
	o := r.options()
	o.Wait = time.Second
	for range 2 {
		report, err := r.eraser(t, r.db, o).Player(t.Context(), "g", "player3")
		if err != nil || len(report.Left) != 1 || !strings.Contains(report.Left[0], "the top of period all still has the player") {
			t.Errorf("%+v, %v", report, err)
		}
	}
	stop := r.run(t, false)
	defer stop()
	o.Wait = 30 * time.Second
	if report, err := r.eraser(t, r.db, o).Player(t.Context(), "g", "player3"); err != nil || len(report.Left) > 0 || len(report.Deleted) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// held is a client whose updates of items wait.
type held struct {
	*dynamodb.Client
	begun, hold chan struct{}
}

func (h *held) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	close(h.begun)
	<-h.hold
	return h.Client.UpdateItem(ctx, in, o...)
}

// sweeping lets a write go on when the eraser has deleted an item.
type sweeping struct {
	*dynamodb.Client
	deleted func()
}

func (s *sweeping) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	out, err := s.Client.DeleteItem(ctx, in, o...)
	s.deleted()
	return out, err
}

// addTo adds to a write shard, as a writer does that draws it. Its time is that of the call.
func (r *rig) addTo(t *testing.T, client counters.WriterClient, name string, n int, delta int64) {
	pk, sk := schema.CounterKey(name, n)
	_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &r.names.Items, Key: dynamo.Key(pk, sk),
		UpdateExpression:         aws.String("SET rev = if_not_exists(rev, :now) + :one ADD #value :delta"),
		ExpressionAttributeNames: map[string]string{"#value": "value"},
		ExpressionAttributeValues: item{
			":now": dynamo.Number(time.Now().UnixMicro()), ":one": num(1), ":delta": dynamo.Number(delta),
		},
	})
	if err != nil {
		t.Error(err)
	}
}

// TestIncrementOnItsWay: an increment that began before the write shard was first made
// comes when it is deleted. Its rev is older than the tombstone's.
func TestIncrementOnItsWay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.run(t, false)
	defer stop()
	late := &held{r.db, make(chan struct{}), make(chan struct{})}
	var writers sync.WaitGroup
	writers.Go(func() {
		r.addTo(t, late, "c", 1, 5)
	})
	<-late.begun
	time.Sleep(10 * time.Millisecond) // so that the write shard's first rev is another
	r.addTo(t, r.db, "c", 1, 1)
	client := &sweeping{r.db, sync.OnceFunc(func() { close(late.hold); writers.Wait() })}
	report, err := r.eraser(t, client, r.options()).Key(t.Context(), base(kind.Counter, "c"))
	if err != nil || len(report.Left) > 0 || len(report.Kept) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	for range 5 {
		r.addTo(t, r.db, "c", 1, 1)
	}
	r.await(t, func() bool {
		items, summary := r.sum(t, "c")
		return items.Int64() == 10 && summary.Int64() == 10
	})
}

// TestACounterThatNeverGrew checks that its delete writes no summary.
func TestACounterThatNeverGrew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.run(t, false)
	defer stop()
	r.add(t, "c", 7)
	r.erase(t, base(kind.Counter, "c"))
	items, _ := r.sum(t, "c")
	if summaries := r.all(t, r.names.Rollups); items.Sign() != 0 || len(summaries) > 0 {
		t.Errorf("the items have %v, the rollups table %v", items, summaries)
	}
}
