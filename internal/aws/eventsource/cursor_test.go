package eventsource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/test/require"
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
	require.NoError(t, err)
	return page
}

// TestEachRecordOnce checks that two cursors read each record once, in order, up to the stream shard's end. Random
// faults occur between and within their calls.
func TestEachRecordOnce(t *testing.T) {
	rapid.Check(t, eachRecordOnce)
}

func eachRecordOnce(t *rapid.T) {
	s := &service{records: rapid.IntRange(0, 40).Draw(t, "records")}
	faults := append([]fault{{}, {}, {}, emptyPage}, transient...)
	inRow := 0 // responses without an iterator; after three, the cursor relies on the listing
	s.fault = func(operation string) fault {
		wrong := rapid.SampledFrom(faults).Draw(t, "fault")
		if inRow++; operation != "GetShardIterator" || wrong != noObject {
			inRow = 0
		}
		if wrong == emptyPage && operation != "GetRecords" || inRow == emptyAnswers {
			return fault{}
		}
		return wrong
	}
	stream := s.stream(engineARN) // an engine's listings need no pauses
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
		if err != nil && !IsTransient(err) {
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
				t.Fatalf("cursor %d read %v, want 1 to %d in order", i, read[i], s.records)
			}
		}
	}
}

// checkNext checks the records of a cursor's next page.
func checkNext(t *testing.T, c *Cursor, limit int, want ...string) {
	t.Helper()
	if got := numbers(mustNext(t, c, limit)); !slices.Equal(got, want) {
		t.Fatalf("read %v, want %v", got, want)
	}
}

// TestUnknownIterator checks that a cursor replaces an iterator that the service rejects, unless that could skip records.
func TestUnknownIterator(t *testing.T) {
	for _, from := range []Position{TrimHorizon, Latest} {
		s := &service{records: 3, unknown: true}
		c := s.stream(engineARN).Cursor("s", from)
		_, err := c.Locate(t.Context())
		require.NoError(t, err)
		s.epoch++
		s.records++
		if _, err := c.Next(t.Context(), new(Buffer), 9); err == nil || IsStale(err) {
			t.Fatalf("error = %v, want the rejection", err)
		}
		_, err = c.Next(t.Context(), new(Buffer), 9)
		if (err == nil) != (from == TrimHorizon) {
			t.Errorf("from %v: error = %v, want one only from the end", from, err)
		}
	}
}

// TestTrimmed checks that a cursor returns an error if records after its position have expired, until it is moved.
func TestTrimmed(t *testing.T) {
	s := &service{records: 9}
	c := s.stream(awsARN).Cursor("s", TrimHorizon)
	mustNext(t, c, 2)
	s.trimmed = 5
	for range 3 {
		if _, err := c.Next(t.Context(), new(Buffer), 9); !IsTrimmed(err) || IsTransient(err) || !c.HasRead() {
			t.Fatalf("error = %v, want one for trimmed records that does not pass", err)
		}
	}
	c.Seek(TrimHorizon)
	checkNext(t, c, 9, "6", "7", "8", "9")
}

// TestTrimmedBeforeFirstRecord checks that a cursor which has read nothing continues after records have expired.
func TestTrimmedBeforeFirstRecord(t *testing.T) {
	s := &service{records: 3}
	c := s.stream(engineARN).Cursor("s", TrimHorizon)
	_, err := c.Locate(t.Context())
	require.NoError(t, err)
	s.trimmed = 1
	if _, err := c.Next(t.Context(), new(Buffer), 9); !IsStale(err) || IsTrimmed(err) {
		t.Fatalf("error = %v, want one for a stale iterator", err)
	}
	checkNext(t, c, 9, "2", "3")
}

// TestClosed checks how a cursor finds the end of a stream shard: by a response with records, or by three responses
// without an iterator and the listing. An open stream shard does not end.
func TestClosed(t *testing.T) {
	s := &service{records: 2, closed: true}
	stream := s.stream(awsARN)
	check := func(c *Cursor, limit, records int, closed bool) {
		t.Helper()
		if page := mustNext(t, c, limit); page.Closed != closed || len(page.Records) != records {
			t.Errorf("%d records, closed %t; want %d, %t", len(page.Records), page.Closed, records, closed)
		}
	}
	check(stream.Cursor("s", TrimHorizon), 1, 1, false)
	check(stream.Cursor("s", TrimHorizon), 9, 2, true)
	s.calls = nil
	c := stream.Cursor("s", AfterSequence("2"))
	for range 2 {
		check(c, 9, 0, true)
	}
	if s.made("GetShardIterator") != 3 || s.made("DescribeStream") != 1 {
		t.Errorf("calls %v, want three of GetShardIterator and one of DescribeStream", s.calls)
	}
	s.list = []Shard{{ID: "s"}}
	if _, err := stream.Cursor("s", AfterSequence("2")).Next(t.Context(), new(Buffer), 9); err == nil || !IsTransient(err) {
		t.Errorf("an open stream shard without an iterator: %v, want a transient error", err)
	}
	s.list = []Shard{{ID: "other"}}
	if ended, err := stream.Cursor("s", AfterSequence("2")).Locate(t.Context()); !ended || err != nil {
		t.Errorf("a stream shard that is no longer listed: ended %t, %v", ended, err)
	}
}

// TestPagesOfEngine checks that a cursor fits an engine's pages to the size of records and to the engine's limits. Of
// DynamoDB it requests full pages.
func TestPagesOfEngine(t *testing.T) {
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
		t.Errorf("requested %v records, want %v", s.limits, want)
	}
	s.limits = nil
	page := mustNext(t, s.stream(awsARN).Cursor("s", TrimHorizon), MaxRecords)
	if !slices.Equal(s.limits, []int{MaxRecords}) || !page.Full {
		t.Errorf("requested %v records of DynamoDB, full %t; want %d", s.limits, page.Full, MaxRecords)
	}
}

// TestFindsTimes checks whether a service supports AT_TIMESTAMP. It does not if it rejects that, or if it fails with
// that iterator only, as DynamoDB Local does and emulators with another ARN.
func TestFindsTimes(t *testing.T) {
	s := &service{records: 1}
	list := []Shard{{ID: "s"}}
	for _, c := range []struct {
		arn   string
		fault fault
		other fault // of every second iterator, which is no AT_TIMESTAMP after a failed one
		want  bool
		fails bool
	}{
		{awsARN, fault{}, fault{}, true, false},
		{awsARN, noObject, noObject, true, false},
		{awsARN, rejection("ValidationException"), fault{}, false, false},
		{awsARN, rejection("SerializationException"), fault{}, false, false},
		{awsARN, throttled, fault{}, false, true},
		{engineARN, throttled, fault{}, false, true},
		{awsARN, broken, broken, false, true},
		{awsARN, broken, throttled, false, true},
		{awsARN, broken, fault{}, false, false},
		{engineARN, broken, fault{}, false, false},
	} {
		calls := 0
		s.fault = func(string) fault {
			if calls++; calls%2 == 0 {
				return c.other
			}
			return c.fault
		}
		if got, err := s.stream(c.arn).FindsTimes(t.Context(), list, epoch); got != c.want || (err != nil) != c.fails {
			t.Errorf("%+v: %t, %v", c, got, err)
		}
	}
}

// TestShardsOnSeveralPages checks that all pages are listed, with pauses between the calls to DynamoDB.
func TestShardsOnSeveralPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{list: []Shard{{ID: "a", Closed: true}, {ID: "b", Parent: "a"}, {ID: "c"}, {ID: "d"}, {ID: "e", Closed: true}}}
		began := time.Now()
		list, err := s.stream(awsARN).Shards(t.Context())
		if err != nil || !slices.Equal(list, s.list) || s.made("DescribeStream") != 3 || time.Since(began) < 2*describePause {
			t.Errorf("stream shards %v, %v after %v; want all by 3 calls, after two pauses", list, err, time.Since(began))
		}
	})
}

// TestReader checks that a reader replaces an expired iterator, and that it returns an error once if its records have
// expired, and then continues at the oldest one.
func TestReader(t *testing.T) {
	s := &service{records: 5}
	r := s.stream(awsARN).Open("s", "1")
	next := func(limit int, want ...string) {
		t.Helper()
		records, closed, err := r.Next(t.Context(), limit)
		var got []string
		for _, record := range records {
			got = append(got, record.Sequence)
		}
		if err != nil || closed || !slices.Equal(got, want) {
			t.Fatalf("read %v, closed %t, %v; want %v", got, closed, err, want)
		}
	}
	next(2, "2", "3")
	s.epoch++
	next(1, "4")
	s.trimmed, s.records = 7, 9
	if _, _, err := r.Next(t.Context(), 9); err == nil || !strings.Contains(err.Error(), "stream shard s") {
		t.Fatalf("error = %v, want one that names the stream shard", err)
	}
	next(9, "8", "9")
}

// TestTimesAreMeasured checks which records make a stream's times exact, whatever Region its ARN has.
func TestTimesAreMeasured(t *testing.T) {
	const minute = 1_800_000_000
	for name, c := range map[string]struct {
		milliseconds []int64
		want         bool
	}{
		"no record": {nil, false}, "a minute": {[]int64{0}, false}, "minutes": {[]int64{0, 60_000, 180_000}, false}, "the last second": {[]int64{59_000}, true},
		"a part of the first second": {[]int64{1}, true}, "a minute and a second": {[]int64{0, 60_000, 61_000}, true}, "before 1970": {[]int64{-1000 * minute}, false},
	} {
		for _, arn := range []string{awsARN, engineARN} {
			stream, records := (&service{}).stream(arn), []ddbstream.Record{{}} // one without a time
			for _, after := range c.milliseconds {
				records = append(records, ddbstream.Record{Created: time.Unix(minute, 0).Add(time.Duration(after) * time.Millisecond)})
			}
			stream.observeTimes(records)
			stream.observeTimes(nil)
			if stream.Exact() != c.want {
				t.Errorf("%s, %s: exact %t", name, arn, stream.Exact())
			}
		}
	}
}
