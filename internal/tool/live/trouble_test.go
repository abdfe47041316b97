package live

import (
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
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestStopsAtFirstThrottle checks that a throttle of any operation ends reading.
func TestStopsAtFirstThrottle(t *testing.T) {
	for _, operation := range []string{"DescribeStream", "GetShardIterator", "GetRecords"} {
		for _, code := range []string{"LimitExceededException", "ThrottlingException"} {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				for range 5 {
					f.open("")
				}
				f.failIf(fault{400, code}, func(o string) bool { return o == operation })
				err := New(Options{Streams: f.client(), Found: found()}).Run(t.Context())
				if want := "DynamoDB throttles the readers of this stream (" + code + "), so reading stops"; err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %s: Run returned %v, want %q", operation, code, err, want)
				}
				if n := f.made(operation); n > 5 { // one in flight for each stream shard
					t.Errorf("%s, %s: %d calls, want at most 5", operation, code, n)
				}
				synctest.Wait()
			})
		}
	}
}

// TestExpiredIterator checks that reading continues after the last record when iterators have expired, as after a
// laptop's sleep.
func TestExpiredIterator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		r := f.reader(t, Options{})
		seconds(40, func(second int) {
			f.write(s, "key", 1)
			f.locked(func() {
				f.expiry = 0
				if second == 15 || second == 25 {
					f.expiry = time.Millisecond // expires all iterators
				}
			})
		})
		time.Sleep(10 * time.Second)
		if got := counted(t, r)["key"]; got != 39 && got != 40 {
			t.Errorf("%d records are counted, want 39 or 40", got)
		}
		if n := f.made("GetShardIterator"); n != 3 {
			t.Errorf("%d calls of GetShardIterator, want 3", n)
		}
		f.checkCalls(t)
	})
}

// TestTrimmedAtStart checks that reading continues if the first poll fails as trimmed. DynamoDB Local's does for an
// empty stream shard.
func TestTrimmedAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		r := f.reader(t, Options{})
		time.Sleep(5 * time.Second)
		polls := 0
		f.locked(func() {
			f.fail = func(operation, shard string) *fault {
				if operation == "GetRecords" && shard != s.id {
					if polls++; polls == 1 {
						return &fault{400, "TrimmedDataAccessException"}
					}
				}
				return nil
			}
		})
		f.write(f.end(s, 1)[0], "key", 1)
		time.Sleep(20 * time.Second)
		if polls < 2 {
			t.Errorf("%d polls of the child, want one after the failed one", polls)
		}
		if got := counted(t, r)["key"]; got != 1 {
			t.Errorf("%d records are counted, want 1", got)
		}
	})
}

// TestFallsBehind checks a stream shard with more records than a poll a second returns. Its windows state the share that
// was read, and the units of its keys are lower bounds.
func TestFallsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{pageLimit: 100}
		for range 4 {
			f.open("")
		}
		r := f.reader(t, Options{})
		begun := time.Now()
		seconds(60, func(int) {
			for range 200 {
				f.write(f.shards[0], "much", 1)
			}
			f.write(f.shards[1], "little", 1)
		})
		time.Sleep(15 * time.Second)
		var sampled int
		for w := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
			coverage, units := coverageOf(w), unitsOfKey(w, "much")
			if units > 2000 {
				t.Errorf("%v: %d units are counted, want at most 2,000", w.Start, units)
			}
			if w.Start.After(begun) && w.Start.Add(Window).Before(begun.Add(time.Minute)) {
				if coverage < 0.75 || coverage > 1 {
					t.Errorf("%v: coverage %.3f, want 0.75 or more: three of four stream shards were read completely", w.Start, coverage)
				}
				if coverage < 1 {
					sampled++
				}
				// The coverage must not exceed the share of the busy stream shard that was read.
				if share := 1 - 4*(1-coverage); float64(units) < 2000*share-201 {
					t.Errorf("%v: %d units of 2,000 were read, but the coverage implies a share of %.2f", w.Start, units, share)
				}
			}
		}
		if sampled == 0 {
			t.Error("no window has a coverage below 1")
		}
		if got := counted(t, r)["little"]; got < 59 {
			t.Errorf("%d records of another stream shard are counted, want 59 or 60", got)
		}
		f.checkCalls(t)
	})
}

// unitsOfKey returns the units of a key in a window.
func unitsOfKey(w heat.Window, key string) (units uint64) {
	for _, it := range w.Items {
		for _, k := range it.Keys {
			if k.Key == key {
				units += k.Units
			}
		}
	}
	return units
}

// TestEndsAfterAJump checks that windows lack coverage if the reader skipped records of a stream shard that then ended.
func TestEndsAfterAJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{pageLimit: 100}
		s := f.open("")
		r := f.reader(t, Options{})
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
			wanted, _ := truth(s, begin, w.Start.Add(Window))
			if got := unitsOfKey(w, "much"); got < wanted {
				lacking++
				if c := coverageOf(w); c > 0.95 {
					t.Errorf("%v: %d units of %d are counted, but the coverage is %v", w.Start, got, wanted, c)
				}
			}
		}
		if lacking == 0 {
			t.Error("the reader skipped nothing")
		}
	})
}

// TestNoIteratorAtEnd checks that the children are read of a closed stream shard that has no iterator at its end.
func TestNoIteratorAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{noneAtEnd: true}
		s := f.open("")
		r := f.reader(t, Options{})
		seconds(5, func(int) { f.write(s, "parent", 1) })
		time.Sleep(2 * time.Second)
		f.locked(func() { f.expiry = time.Millisecond })
		child := f.end(s, 1)[0]
		time.Sleep(1500 * time.Millisecond)
		f.locked(func() { f.expiry = 0 })
		seconds(5, func(int) { f.write(child, "child", 1) })
		time.Sleep(20 * time.Second)
		if got := counted(t, r); got["child"] != 5 {
			t.Errorf("counted %v, want 5 of the child", got)
		}
	})
}

// TestWrongClock checks that records are counted in the service's windows although the machine's clock is wrong. The
// operator is notified once if it is wrong by 3 s or more.
func TestWrongClock(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, -6500 * time.Millisecond, -time.Second, 300 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond, 6 * time.Second, time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{ahead: ahead}
				s, other := f.open(""), f.open("")
				time.Sleep(430 * time.Millisecond)
				var notices []string
				r := f.reader(t, Options{Notify: func(sentence string) { notices = append(notices, sentence) }})
				atFirst := make(map[time.Time]uint64) // the units of a window right after its end
				seconds(90, func(second int) {
					for range 10 {
						f.write(s, "key", 1)
					}
					if second%7 == 0 {
						f.write(other, "other", 1)
					}
					for w := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
						if _, ok := atFirst[w.Start]; !ok {
							atFirst[w.Start] = unitsOf(w)
						}
					}
				})
				time.Sleep(20 * time.Second)
				if len(atFirst) < 7 {
					t.Errorf("%v ahead: %d windows have ended, want 7 or more", ahead, len(atFirst))
				}
				for w := range r.Windows(t.Context(), time.Time{}, r.Settled(), Window) {
					if first, ok := atFirst[w.Start]; ok && first != unitsOf(w) {
						t.Errorf("%v ahead, %v: %d units at the window's end, and %d later", ahead, w.Start, first, unitsOf(w))
					}
				}
				checkCovered(t, r)
				wanted, got := f.written(r.windows.begin), counted(t, r)
				if got["key"] != wanted["key"] || got["other"] != wanted["other"] || got["key"] < 850 {
					t.Errorf("%v ahead: counted %v, want %v", ahead, got, wanted)
				}
				if wrong := ahead.Abs() >= 3*time.Second; wrong != (len(notices) == 1) {
					t.Errorf("%v ahead: notices %q, want one: %t", ahead, notices, wrong)
				}
			})
		})
	}
}

// TestRawBodies checks that the cursor, which bypasses the SDK, reads the same records and errors as the SDK.
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
		require.NoError(t, err)
		stock, err := client.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: first.ShardIterator, Limit: aws.Int32(1000)})
		require.NoError(t, err)
		cursor := streamshard.New(client, fakeARN, found().View).Cursor(s.id, streamshard.TrimHorizon)
		page, err := cursor.Next(t.Context(), new(streamshard.Buffer), streamshard.MaxRecords)
		require.NoError(t, err)
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
			t.Errorf("error %v, want ExpiredIterator", err)
		}
	})
}

// TestJumpToEndOfClosedShard checks a stream shard that closes while the reader skips ahead: the skipped records have no
// coverage, and the child is read completely.
func TestJumpToEndOfClosedShard(t *testing.T) {
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
		r := f.reader(t, Options{})
		// The jump may close the stream shard between two writes of a second.
		for open := true; open; time.Sleep(time.Second) {
			for range 200 {
				open = f.writeOpen(s, "much", 1)
			}
		}
		seconds(30, func(int) { f.write(child, "little", 1) })
		time.Sleep(15 * time.Second)
		if got := counted(t, r)["little"]; got != 30 {
			t.Errorf("%d records of the child are counted, want 30", got)
		}
		lacking := 0
		for w := range r.Windows(t.Context(), r.windows.begin, r.Settled(), Window) {
			units := unitsOf(w)
			if written := f.writtenIn(w.Start); units < written {
				lacking++
				if c := coverageOf(w); c > 0.95 {
					t.Errorf("%v: %d units of %d are counted, but the coverage is %v", w.Start, units, written, c)
				}
			}
		}
		if lacking == 0 {
			t.Error("the reader skipped nothing")
		}
		if iterators != 1+3 {
			t.Errorf("%d calls of GetShardIterator, want 4", iterators)
		}
	})
}
