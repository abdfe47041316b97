package streamshard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// numbers returns the sequence numbers of a page.
func numbers(p Page) (list []string) {
	for _, record := range p.Records {
		list = append(list, string(record.Sequence))
	}
	return list
}

func mustNext(t *testing.T, c *Cursor, limit int) Page {
	t.Helper()
	page, err := c.Next(t.Context(), new(Buffer), limit)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// TestEachRecordOnce: whatever fails between and within the calls of two cursors, each reads each
// record once, in order, and ends at the stream shard's end.
func TestEachRecordOnce(t *testing.T) {
	rapid.Check(t, eachRecordOnce)
}

func eachRecordOnce(t *rapid.T) {
	s := &service{records: rapid.IntRange(0, 40).Draw(t, "records")}
	faults := append([]fault{{}, {}, {}, emptyPage}, passing...)
	inRow := 0 // answers without an iterator; of three, the cursor believes what the listing says
	s.fault = func(operation string) fault {
		wrong := rapid.SampledFrom(faults).Draw(t, "fault")
		if inRow++; operation != "GetShardIterator" || wrong != noObject {
			inRow = 0
		}
		if wrong == emptyPage && operation != "GetRecords" || inRow == sureTries {
			return fault{}
		}
		return wrong
	}
	stream := s.stream(engineARN) // whose listings need no pauses
	cursors := []*Cursor{stream.Cursor("s", TrimHorizon), stream.Cursor("s", TrimHorizon)}
	read, closed := make([][]string, 2), make([]bool, 2)
	for step := 0; !closed[0] || !closed[1]; step++ {
		if step == 200 {
			s.fault = nil
		}
		switch rapid.IntRange(0, 9).Draw(t, "change") {
		case 0:
			s.epoch++ // all iterators expire
		case 1:
			if !s.closed {
				s.records++
			}
		case 2:
			s.closed = s.closed || step > 20
		}
		s.closed = s.closed || step > 200
		i := rapid.IntRange(0, 1).Draw(t, "cursor")
		page, err := cursors[i].Next(context.Background(), new(Buffer), rapid.IntRange(1, 20).Draw(t, "limit"))
		if err != nil && !Passing(err) {
			t.Fatal(err)
		}
		read[i] = append(read[i], numbers(page)...)
		closed[i] = closed[i] || page.Closed
	}
	for i := range read {
		if len(read[i]) != s.records {
			t.Fatalf("cursor %d read %d of %d records", i, len(read[i]), s.records)
		}
		for n, number := range read[i] {
			if number != fmt.Sprint(n+1) {
				t.Fatalf("cursor %d read %v", i, read[i])
			}
		}
	}
}

// TestExpiredIterator: the next call reads on behind the last record, with another iterator.
func TestExpiredIterator(t *testing.T) {
	s := &service{records: 5}
	c := s.stream(awsARN).Cursor("s", AfterSequence("1"))
	if got := numbers(mustNext(t, c, 2)); !slices.Equal(got, []string{"2", "3"}) {
		t.Fatal(got)
	}
	s.epoch++
	if _, err := c.Next(t.Context(), new(Buffer), 9); !IsStale(err) || !Passing(err) || !strings.Contains(err.Error(), "stream shard s") {
		t.Fatalf("error is %v", err)
	}
	if got := numbers(mustNext(t, c, 9)); !slices.Equal(got, []string{"4", "5"}) {
		t.Error(got)
	}
	if !slices.Equal(s.asked, []string{"AFTER_SEQUENCE_NUMBER1", "AFTER_SEQUENCE_NUMBER3"}) {
		t.Errorf("asked for %v", s.asked)
	}
}

// TestUnknownIterator checks that a cursor replaces an iterator that the service rejects, unless
// that would skip records.
func TestUnknownIterator(t *testing.T) {
	for _, from := range []Position{TrimHorizon, Latest} {
		s := &service{records: 3, unknown: true}
		c := s.stream(engineARN).Cursor("s", from)
		if _, err := c.Locate(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.epoch++
		s.records++
		if _, err := c.Next(t.Context(), new(Buffer), 9); err == nil || IsStale(err) {
			t.Fatalf("error is %v", err)
		}
		_, err := c.Next(t.Context(), new(Buffer), 9)
		if (err == nil) != (from == TrimHorizon) {
			t.Errorf("from %v: error is %v", from, err)
		}
	}
}

// TestTrimmed: records behind the cursor are gone, by the iterator and by the position. The
// cursor says so until it is put elsewhere.
func TestTrimmed(t *testing.T) {
	s := &service{records: 9}
	c := s.stream(awsARN).Cursor("s", TrimHorizon)
	mustNext(t, c, 2)
	s.trimmed = 5
	for range 3 {
		if _, err := c.Next(t.Context(), new(Buffer), 9); !IsTrimmed(err) || Passing(err) || !c.HasRead() {
			t.Fatalf("error is %v", err)
		}
	}
	c.Seek(TrimHorizon)
	if got := numbers(mustNext(t, c, 9)); !slices.Equal(got, []string{"6", "7", "8", "9"}) {
		t.Error(got)
	}
}

// TestTrimmedBeforeTheFirstRecord: nothing was read, so nothing is lost.
func TestTrimmedBeforeTheFirstRecord(t *testing.T) {
	s := &service{records: 3}
	c := s.stream(engineARN).Cursor("s", TrimHorizon)
	if _, err := c.Locate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.trimmed = 1
	if _, err := c.Next(t.Context(), new(Buffer), 9); !IsStale(err) || IsTrimmed(err) {
		t.Fatalf("error is %v", err)
	}
	if got := numbers(mustNext(t, c, 9)); !slices.Equal(got, []string{"2", "3"}) {
		t.Error(got)
	}
}

// TestClosed: the end of a stream shard is what an answer with records says, or what three answers
// without an iterator and the listing say. An open stream shard does not end.
func TestClosed(t *testing.T) {
	s := &service{records: 2, closed: true}
	stream := s.stream(awsARN)
	if page := mustNext(t, stream.Cursor("s", TrimHorizon), 1); page.Closed || len(page.Records) != 1 {
		t.Errorf("%+v", page)
	}
	if page := mustNext(t, stream.Cursor("s", TrimHorizon), 9); !page.Closed || len(page.Records) != 2 {
		t.Errorf("%+v", page)
	}
	s.calls = nil
	c := stream.Cursor("s", AfterSequence("2"))
	for range 2 {
		if page := mustNext(t, c, 9); !page.Closed || len(page.Records) != 0 {
			t.Errorf("%+v", page)
		}
	}
	if s.made("GetShardIterator") != 3 || s.made("DescribeStream") != 1 {
		t.Errorf("calls are %v", s.calls)
	}
	s.list = []Shard{{ID: "s"}}
	if _, err := stream.Cursor("s", AfterSequence("2")).Next(t.Context(), new(Buffer), 9); err == nil || !Passing(err) {
		t.Errorf("an open stream shard without an iterator: %v", err)
	}
	s.list = []Shard{{ID: "other"}}
	if ended, err := stream.Cursor("s", AfterSequence("2")).Locate(t.Context()); !ended || err != nil {
		t.Errorf("a stream shard that is no longer listed: %v, %v", ended, err)
	}
}

// TestPagesOfTheEngine are fitted to the size of records, and to what the engine can answer.
func TestPagesOfTheEngine(t *testing.T) {
	s := &service{records: 9000, text: strings.Repeat("x", 40_000)}
	c := s.stream(engineARN).Cursor("s", TrimHorizon)
	mustNext(t, c, MaxRecords)
	mustNext(t, c, 50)
	s.text = ""
	mustNext(t, c, MaxRecords)
	s.fault = func(string) fault { return broken }
	if _, err := c.Next(t.Context(), new(Buffer), MaxRecords); err == nil {
		t.Fatal("no error")
	}
	s.fault = nil
	mustNext(t, c, MaxRecords)
	if want := []int{100, 50, 104, 125}; !slices.Equal(s.limits, want) {
		t.Errorf("asked for %v records, want %v", s.limits, want)
	}
	s.limits = nil
	page := mustNext(t, s.stream(awsARN).Cursor("s", TrimHorizon), MaxRecords)
	if !slices.Equal(s.limits, []int{MaxRecords}) || !page.Full {
		t.Errorf("asked DynamoDB for %v records", s.limits)
	}
}

// TestFindsTimes: DynamoDB Local is not asked, and garbage is no answer.
func TestFindsTimes(t *testing.T) {
	s := &service{records: 1}
	list := []Shard{{ID: "s"}}
	for _, c := range []struct {
		arn   string
		fault fault
		want  bool
		fails bool
	}{
		{awsARN, fault{}, true, false},
		{awsARN, noObject, true, false},
		{awsARN, rejection("ValidationException"), false, false},
		{awsARN, rejection("SerializationException"), false, false},
		{awsARN, throttled, false, true},
		{engineARN, throttled, false, false},
	} {
		s.fault = func(string) fault { return c.fault }
		if got, err := s.stream(c.arn).FindsTimes(t.Context(), list, epoch); got != c.want || (err != nil) != c.fails {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}

// TestShardsOnSeveralPages: all are listed, with pauses between the calls to DynamoDB.
func TestShardsOnSeveralPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{list: []Shard{{ID: "a", Closed: true}, {ID: "b", Parent: "a"}, {ID: "c"}, {ID: "d"}, {ID: "e", Closed: true}}}
		began := time.Now()
		list, err := s.stream(awsARN).Shards(t.Context())
		if err != nil || !slices.Equal(list, s.list) || s.made("DescribeStream") != 3 || time.Since(began) < 2*describePause {
			t.Errorf("%v, %v after %v", list, err, time.Since(began))
		}
	})
}

// TestChildrenWithoutFilter: a service that knows no filter lists all.
func TestChildrenWithoutFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{list: []Shard{{ID: "a", Closed: true}, {ID: "b", Parent: "a"}}}
		first := true
		s.fault = func(string) fault {
			if first {
				first = false
				return rejection("ValidationException")
			}
			return fault{}
		}
		if list, err := s.stream(awsARN).Children(t.Context(), "a"); err != nil || !slices.Equal(list, s.list) {
			t.Errorf("%v, %v", list, err)
		}
	})
}
