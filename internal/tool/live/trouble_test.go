package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/hotshard/hotshard/internal/aws/streamshard"
	"github.com/hotshard/hotshard/internal/base/heat"
)

// TestStopsAtTheFirstThrottle, of whichever call.
func TestStopsAtTheFirstThrottle(t *testing.T) {
	for _, operation := range []string{"DescribeStream", "GetShardIterator", "GetRecords"} {
		for _, code := range []string{"LimitExceededException", "ThrottlingException"} {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				for range 5 {
					f.open("")
				}
				throttles := 0
				f.fail = func(o, _ string) *fault {
					if o == operation && time.Since(f.shards[0].begun) >= 0 {
						throttles++
						return &fault{400, code}
					}
					return nil
				}
				o := Options{Streams: f.client(), Found: found()}
				err := New(o).Run(t.Context())
				if err == nil || !strings.Contains(err.Error(), "DynamoDB throttles the readers of this stream ("+code+"), so reading stops") {
					t.Errorf("%s, %s: %v", operation, code, err)
				}
				if throttles > 5 { // those that were under way
					t.Errorf("%s, %s: called on after a throttle: %d", operation, code, throttles)
				}
				synctest.Wait()
			})
		}
	}
}

// TestExpiredIterator: after a laptop has slept, reading goes on behind the last record.
func TestExpiredIterator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		r, stop := f.reading(t, Options{})
		seconds(40, func(second int) {
			f.write(s, "key", 1)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.expiry = 0
			if second == 15 || second == 25 {
				f.expiry = time.Millisecond // none that was given is good any more
			}
		})
		time.Sleep(10 * time.Second)
		if got := counted(t, r)["key"]; got != 39 && got != 40 {
			t.Errorf("%d records of 40 are counted", got)
		}
		if n := f.made("GetShardIterator"); n != 3 {
			t.Errorf("%d iterators", n)
		}
		f.checkCalls(t)
		stop()
	})
}

// TestTrimmedAtTheBegin: DynamoDB Local refuses an iterator of an empty stream shard once.
func TestTrimmedAtTheBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		first := true
		f.fail = func(o, _ string) *fault {
			if o == "GetRecords" && first {
				first = false
				return &fault{400, "TrimmedDataAccessException"}
			}
			return nil
		}
		began := time.Now()
		f.write(s, "key", 1)
		r, stop := f.reading(t, Options{Since: began})
		time.Sleep(20 * time.Second)
		if got := counted(t, r)["key"]; got != 1 {
			t.Errorf("counted %d", got)
		}
		stop()
	})
}

// TestFallsBehind: a stream shard that takes more than a poll a second brings is read in part,
// its windows say which part, and what is said of keys stays a lower bound.
func TestFallsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{pageLimit: 100}
		for range 4 {
			f.open("")
		}
		r, stop := f.reading(t, Options{})
		var written [60]int
		begun := time.Now()
		seconds(60, func(second int) {
			for range 200 {
				f.write(f.shards[0], "much", 1)
			}
			f.write(f.shards[1], "little", 1)
			written[second] = 200
		})
		time.Sleep(15 * time.Second)
		var sampled int
		for w := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
			coverage := w.Items[0].Coverage
			if coverage == 0 {
				coverage = 1
			}
			var units uint64
			for _, it := range w.Items {
				for _, k := range it.Keys {
					if k.Key == "much" {
						units += k.Units
					}
				}
			}
			if units > 2000 {
				t.Errorf("%v: %d units of 2000", w.Start, units)
			}
			if w.Start.After(begun) && w.Start.Add(Window).Before(begun.Add(time.Minute)) {
				if coverage < 0.75 || coverage > 1 {
					t.Errorf("%v: coverage %.3f, with one of four stream shards not wholly read", w.Start, coverage)
				}
				if coverage < 1 {
					sampled++
				}
				// What it says of the one stream shard is no more than what was read of it.
				if share := 1 - 4*(1-coverage); float64(units) < 2000*share-201 {
					t.Errorf("%v: %d units of 2000 were read, and coverage claims %.2f of its stream shard", w.Start, units, share)
				}
			}
		}
		if sampled == 0 {
			t.Error("no window tells that it was not wholly read")
		}
		if got := counted(t, r)["little"]; got < 59 {
			t.Errorf("the other stream shards suffer: %d of 60", got)
		}
		f.checkCalls(t)
		stop()
	})
}

// TestEndsAfterAJump: a stream shard that is read in part and then ends leaves windows that say so.
func TestEndsAfterAJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{pageLimit: 100}
		s := f.open("")
		r, stop := f.reading(t, Options{})
		jumped := func() bool { return f.made("GetShardIterator") > 1 }
		for !jumped() {
			seconds(1, func(int) {
				for range 200 {
					f.write(s, "much", 1)
				}
			})
		}
		child := f.end(s, 1)[0]
		seconds(30, func(int) { f.write(child, "little", 1) })
		var lacking int
		for w := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
			begin := w.Start
			if begin.Before(r.windows.begin) {
				begin = r.windows.begin
			}
			var wanted, got uint64
			for _, record := range s.records {
				if at := record.created.Truncate(time.Second); !at.Before(begin) && at.Before(w.Start.Add(Window)) {
					wanted++
				}
			}
			for _, k := range w.Items[0].Keys {
				if k.Key == "much" {
					got += k.Units
				}
			}
			if got < wanted {
				lacking++
				if c := w.Items[0].Coverage; c == 0 || c > 0.95 {
					t.Errorf("%v: %d units of %d are counted, and coverage is %v", w.Start, got, wanted, c)
				}
			}
		}
		if lacking == 0 {
			t.Error("it read all")
		}
		stop()
	})
}

// TestNoIteratorAtTheEnd: a stream shard that is closed and read through has no iterator any more.
func TestNoIteratorAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{noneAtEnd: true}
		s := f.open("")
		r, stop := f.reading(t, Options{})
		seconds(5, func(int) { f.write(s, "parent", 1) })
		time.Sleep(2 * time.Second)
		f.mu.Lock()
		f.expiry = time.Millisecond
		f.mu.Unlock()
		child := f.end(s, 1)[0]
		time.Sleep(1500 * time.Millisecond)
		f.mu.Lock()
		f.expiry = 0
		f.mu.Unlock()
		seconds(5, func(int) { f.write(child, "child", 1) })
		time.Sleep(20 * time.Second)
		if got := counted(t, r); got["child"] != 5 {
			t.Errorf("counted %v", got)
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestWrongClock: a machine whose clock is wrong counts all, in the service's windows, and says so.
func TestWrongClock(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, -6500 * time.Millisecond, -time.Second, 300 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond, 6 * time.Second, time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{ahead: ahead}
				s, other := f.open(""), f.open("")
				time.Sleep(430 * time.Millisecond)
				var told []string
				r, stop := f.reading(t, Options{Notify: func(sentence string) { told = append(told, sentence) }})
				atFirst := make(map[time.Time]uint64) // what a window says when it is over
				units := func(w heat.Window) (n uint64) {
					for _, it := range w.Items {
						n += it.Units
					}
					return n
				}
				seconds(90, func(second int) {
					for range 10 {
						f.write(s, "key", 1)
					}
					if second%7 == 0 {
						f.write(other, "other", 1)
					}
					for w := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
						if _, ok := atFirst[w.Start]; !ok {
							atFirst[w.Start] = units(w)
						}
					}
				})
				time.Sleep(20 * time.Second)
				if len(atFirst) < 7 {
					t.Errorf("%v ahead: %d windows are over", ahead, len(atFirst))
				}
				for w := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
					if first, ok := atFirst[w.Start]; ok && first != units(w) {
						t.Errorf("%v ahead, %v: %d units, and %d later", ahead, w.Start, first, units(w))
					}
					if c := w.Items[0].Coverage; c != 0 && !w.Start.Before(r.windows.begin) {
						t.Errorf("%v ahead, %v: coverage %v", ahead, w.Start, c)
					}
				}
				wanted, got := f.written(r.windows.begin), counted(t, r)
				if got["key"] != wanted["key"] || got["other"] != wanted["other"] || got["key"] < 850 {
					t.Errorf("%v ahead: counted %v of %v", ahead, got, wanted)
				}
				stop()
				if say := ahead.Abs() >= 3*time.Second; say != (len(told) == 1) {
					t.Errorf("%v ahead: told %q", ahead, told)
				}
			})
		})
	}
}

// TestRawBodies: what is read past the SDK is what the SDK reads.
func TestRawBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		for i := range 50 {
			f.write(s, fmt.Sprint("key \"\\u00e9", i%7), 1+i%5)
		}
		client := f.client()
		first, err := client.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
			StreamArn: aws.String(fakeARN), ShardId: &s.id, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			t.Fatal(err)
		}
		stock, err := client.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: first.ShardIterator, Limit: aws.Int32(1000)})
		if err != nil {
			t.Fatal(err)
		}
		cursor := streamshard.New(client, fakeARN, found().View).Cursor(s.id, streamshard.TrimHorizon)
		page, err := cursor.Next(t.Context(), new(streamshard.Buffer), streamshard.MaxRecords)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Records) != 50 || len(stock.Records) != 50 || page.Closed || stock.NextShardIterator == nil {
			t.Fatalf("%d and %d records, closed %v", len(page.Records), len(stock.Records), page.Closed)
		}
		for i, record := range page.Records {
			other := stock.Records[i].Dynamodb
			key, _ := record.Keys.String("pk")
			units, err := record.WriteUnits()
			size := 0
			for name, value := range other.NewImage {
				size += len(name) + len(value.(*streamtypes.AttributeValueMemberS).Value)
			}
			if err != nil || key != other.Keys["pk"].(*streamtypes.AttributeValueMemberS).Value || string(record.Sequence) != aws.ToString(other.SequenceNumber) ||
				!record.Created.Equal(*other.ApproximateCreationDateTime) || units != max(1, (size+1023)/1024) || record.Name.String() != string(stock.Records[i].EventName) {
				t.Errorf("record %d: %q, %d units of %d bytes, %v", i, key, units, size, err)
			}
		}
		f.fail = func(string, string) *fault { return &fault{400, "ExpiredIteratorException"} }
		if _, err := cursor.Next(t.Context(), new(streamshard.Buffer), streamshard.MaxRecords); err == nil || !strings.Contains(err.Error(), "ExpiredIterator") {
			t.Errorf("an error is read as %v", err)
		}
	})
}

// TestJumpToTheEndOfAClosedShard: a stream shard that closes while the reader jumps ahead leaves
// no more to read. What was skipped has no coverage, and the child is read whole.
func TestJumpToTheEndOfAClosedShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{pageLimit: 100, noneAtEnd: true}
		s := f.open("")
		var child *fakeShard
		iterators := 0
		f.fail = func(operation, shard string) *fault {
			if operation == "GetShardIterator" && shard == s.id {
				if iterators++; iterators == 2 { // the jump's
					s.closed = true
					child = f.open(s.id)
				}
			}
			return nil
		}
		r, stop := f.reading(t, Options{})
		// The jump closes the stream shard at any moment, between two of a second's records too.
		for open := true; open; time.Sleep(time.Second) {
			for range 200 {
				open = f.writeOpen(s, "much", 1)
			}
		}
		seconds(30, func(int) { f.write(child, "little", 1) })
		time.Sleep(15 * time.Second)
		if got := counted(t, r)["little"]; got != 30 {
			t.Errorf("%d records of the child's 30 are counted", got)
		}
		lacking := 0
		for w := range r.Windows(t.Context(), r.windows.begin, r.Settled(), Window) {
			var units uint64
			for _, it := range w.Items {
				units += it.Units
			}
			if written := f.writtenIn(w.Start); units < written {
				lacking++
				if c := w.Items[0].Coverage; c == 0 || c > 0.95 {
					t.Errorf("%v: %d units of %d are counted, and coverage is %v", w.Start, units, written, c)
				}
			}
		}
		if lacking == 0 {
			t.Error("it read all")
		}
		if iterators != 1+3 {
			t.Errorf("%d iterators were asked for", iterators)
		}
		stop()
	})
}
