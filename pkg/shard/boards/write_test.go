package boards

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// noon is the time of the tests' calls, not in whole milliseconds.
var noon = libtest.Later.Add(999 * time.Microsecond)

var errBroken = errors.New("broken")

// scripted is a client whose puts return scripted results, too, and whose queries return rows of one page.
type scripted struct {
	libtest.Scripted
	mu        sync.Mutex // guards puts and put
	puts      []error
	put       []*dynamodb.PutItemInput
	rows      []dynamo.Item // of write shard 0
	unqueried error
	queried   []*dynamodb.QueryInput
	takes     time.Duration // of a put
}

func nextOf(list *[]error) (err error) {
	if len(*list) > 0 {
		err, *list = (*list)[0], (*list)[1:]
	}
	return err
}

func (s *scripted) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	s.mu.Lock()
	s.put = append(s.put, in)
	err := nextOf(&s.puts)
	s.mu.Unlock()
	time.Sleep(s.takes)
	return nil, err
}

func (s *scripted) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	copied := *in
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queried = append(s.queried, &copied)
	out := &dynamodb.QueryOutput{}
	if dynamo.Text(in.ExpressionAttributeValues, ":shard") == "L#b#all#0" {
		out.Items = slices.Clone(s.rows)
	}
	return out, s.unqueried
}

// of returns Boards over the client; the board b has three write shards.
func of(s *scripted, o Options) *Boards { return New(s, "t", libtest.MapOf("L#b", "1:3"), o) }

// settingsItem returns a board's item. It has no rev if that is 0.
func settingsItem(mode string, size int64, periods string, used bool, rev int64) dynamo.Item {
	it := settingsKey("b")
	it["mode"], it["size"], it["periods"] = dynamo.String(mode), dynamo.Number(size), dynamo.String(periods)
	it["used"] = &types.AttributeValueMemberBOOL{Value: used}
	if rev > 0 {
		it["rev"] = dynamo.Number(rev)
	}
	return it
}

// failed returns the error of a condition that failed on an item.
func failed(it dynamo.Item) error { return &types.ConditionalCheckFailedException{Item: it} }

func parsed(text string) Score {
	s, err := ParseScore(text)
	if err != nil {
		panic(err)
	}
	return s
}

// boardPeriod of all time, and of a day that expires.
var (
	allTime = boardPeriod{board: "b", label: "all"}
	oneDay  = boardPeriod{board: "b", label: "2126-01-15", expires: noon.Add(60 * time.Hour)}
)

// entryItem returns ann's item with a score of 5, reached before noon. Its row is on write shard 2.
func entryItem(rev int64) dynamo.Item {
	return allTime.item(Place{Player: "ann", Score: parsed("5"), At: time.UnixMilli(noon.Add(-time.Hour).UnixMilli()).UTC()}, rev, 2)
}

// TestEntriesParseBack checks that ParseEntry returns what was stored, and rejects each damage.
func TestEntriesParseBack(t *testing.T) {
	place := Place{Player: "ann", Score: parsed("-5.5"), At: time.UnixMilli(1_000).UTC()}
	whole := oneDay.item(place, 7, 2)
	want := Entry{Place: place, Rev: 7, Expires: time.Unix(oneDay.expires.Unix(), 0), shard: 2}
	if got, err := ParseEntry(whole); err != nil || !reflect.DeepEqual(got, want) || got.Late() {
		t.Errorf("ParseEntry = %+v, %v; want %+v", got, err, want)
	}
	other := place
	other.Score = parsed("1")
	for name, c := range map[string]struct {
		attribute string
		value     types.AttributeValue
		late      bool // valid, with an outdated row
	}{
		"the score":                {"score", dynamo.String("5"), false},
		"the time":                 {"at", dynamo.String("5"), false},
		"the rev":                  {"rev", dynamo.String("5"), false},
		"the row's rev":            {"row_rev", dynamo.String("5"), false},
		"the rank key":             {"rank_key", dynamo.String("5"), false},
		"the rank key's score":     {"rank_key", dynamo.String(other.RankKey()), false},
		"the row's place":          {"board_shard", dynamo.String("L#b"), false},
		"the expiry":               {"expires_at", dynamo.String("x"), false},
		"another player's row":     {"rank_key", dynamo.String(Place{Player: "bob", Score: place.Score, At: place.At}.RankKey()), false},
		"an outdated row's number": {"row_rev", dynamo.Number(6), true},
	} {
		it := oneDay.item(place, 7, 2)
		it[c.attribute] = c.value
		if got, err := ParseEntry(it); (err == nil) != c.late || c.late != got.Late() && c.late {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	late := oneDay.item(place, 7, 2)
	late["row_rev"], late["rank_key"] = dynamo.Number(6), dynamo.String(other.RankKey())
	if got, err := ParseEntry(late); err != nil || !got.Late() || got.Score != place.Score {
		t.Errorf("an outdated row: %+v, %v; want the entry, late", got, err)
	}
	key := place.RankKey()
	for _, bad := range []string{
		"", key[:len(key)-4], key[:len(key)-4] + "+ann", "x" + key[1:], key[:28] + "x" + key[29:], "9" + key[1:], "0000000000000000000" + key[19:], "2000000000000000001" + key[19:],
	} {
		if got, err := ParseRankKey(bad); err == nil {
			t.Errorf("ParseRankKey(%q) = %+v, want an error", bad, got)
		}
	}
}

// TestScoresOfACall checks what scores of one player and call count as, and the place after a score of 3 on an entry of 5.
func TestScoresOfACall(t *testing.T) {
	high, at := parsed("999999999999999999"), noon
	scores := func(list ...string) (all []PlayerScore) {
		for i, s := range list {
			all = append(all, PlayerScore{Player: []string{"ann", "bob"}[i%2], Score: parsed(s)})
		}
		return all
	}
	for mode, want := range map[Mode][2]string{Best: {"4", "-1"}, Latest: {"-7", "-1"}, Total: {"-2", "-1"}} {
		list := combineByPlayer(mode, scores("1", "-1", "4", "-1", "-7")) // ann 1, 4 and -7, bob -1 twice
		if mode == Total {
			want[1] = "-2"
		}
		if len(list) != 2 || list[0].Score.String() != want[0] || list[1].Score.String() != want[1] || !slices.Equal(list[0].indices, []int{0, 2, 4}) || !slices.Equal(list[1].indices, []int{1, 3}) {
			t.Errorf("%s: %+v, %+v; want %v", mode, list[0], list[1], want)
		}
	}
	over := &playerScores{PlayerScore: PlayerScore{Score: high}}
	if over.addScore(Total, parsed("1")); !errors.Is(over.err, ErrScoreRange) || over.Score != high {
		t.Errorf("a sum out of range: %+v", over)
	}
	held := func(score string, before time.Duration) *Entry {
		return &Entry{Place: Place{Player: "ann", Score: parsed(score), At: at.Add(-before)}}
	}
	for name, c := range map[string]struct {
		mode    Mode
		held    *Entry
		score   string
		want    string
		late    time.Duration // of the place's time before the score's
		changed bool
		err     error
	}{
		"new":                     {Best, nil, "3", "3", 0, true, nil},
		"beaten":                  {Best, held("2", time.Hour), "3", "3", 0, true, nil},
		"equal":                   {Best, held("3", time.Hour), "3", "3", 0, false, nil},
		"not beaten":              {Best, held("4", time.Hour), "3", "3", 0, false, nil},
		"a newer score":           {Latest, held("4", 1), "3", "3", 0, true, nil},
		"of the same time":        {Latest, held("4", 0), "3", "3", 0, true, nil},
		"the same of its time":    {Latest, held("3", 0), "3", "3", 0, false, nil},
		"an older score":          {Latest, held("4", -1), "3", "3", 0, false, nil},
		"added":                   {Total, held("4", time.Hour), "3", "7", 0, true, nil},
		"added to a newer one":    {Total, held("4", -time.Hour), "3", "7", -time.Hour, true, nil},
		"nothing added":           {Total, held("4", time.Hour), "0", "4", 0, false, nil},
		"added out of range":      {Total, held("999999999999999999", time.Hour), "1", "999999999999999999", time.Hour, false, ErrScoreRange},
		"a new one of the sums":   {Total, nil, "0", "0", 0, true, nil},
		"taken away out of range": {Total, held("-999999999999999999", time.Hour), "-1", "-999999999999999999", time.Hour, false, ErrScoreRange},
	} {
		got, changed, err := nextPlace(c.mode, c.held, PlayerScore{Player: "ann", Score: parsed(c.score)}, at)
		want := Place{Player: "ann", Score: parsed(c.want), At: at.Add(-c.late)}
		if got != want || changed != c.changed || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, changed: %t, %v; want %+v, %t, %v", name, got, changed, err, want, c.changed, c.err)
		}
	}
}

// TestBoundsOfScores checks sums at the ends of the range.
func TestBoundsOfScores(t *testing.T) {
	for _, c := range []struct {
		a, b, sum string // "" if it is out of range
	}{
		{"999999999999999999", "0.999999999", "999999999999999999.999999999"}, {"999999999999999999.999999999", "0.000000001", ""}, {"999999999999999999", "1", ""},
		{"-999999999999999999", "-0.999999999", "-999999999999999999.999999999"}, {"-999999999999999999.999999999", "-0.000000001", ""}, {"-999999999999999999", "-1", ""},
		{"0.5", "0.5", "1"}, {"-0.5", "0.4", "-0.1"}, {"0.999999999", "0.000000002", "1.000000001"},
	} {
		sum, ok := parsed(c.a).Add(parsed(c.b))
		if ok != (c.sum != "") || ok && sum != parsed(c.sum) {
			t.Errorf("%s + %s = %v, %t; want %s", c.a, c.b, sum, ok, c.sum)
		}
	}
	for text, valid := range map[string]bool{"1e30": false, "1e-30": true, "0e30": true, "0e-30": true, "0e31": false, "1e-9": true, "1e17": true, "0e": false, "0." + string(slices.Repeat([]byte("0"), 62)): true, "0." + string(slices.Repeat([]byte("0"), 63)): false} {
		if _, err := ParseScore(text); (err == nil) != valid {
			t.Errorf("ParseScore(%q): %v, want valid: %t", text, err, valid)
		}
	}
}

// TestOutcomeOfAPlayer checks the result of a player's writes in two periods.
func TestOutcomeOfAPlayer(t *testing.T) {
	throttled, unavailable := fmt.Errorf("put: %w", shard.ErrThrottled), fmt.Errorf("put: %w", shard.ErrUnavailable)
	for name, c := range map[string]struct {
		of         error // the player's
		errs       [2]error
		wrote      [2]bool
		want, also error
	}{
		"written":              {nil, [2]error{}, [2]bool{true, true}, nil, nil},
		"without effect":       {nil, [2]error{}, [2]bool{}, nil, nil},
		"rejected":             {ErrScoreRange, [2]error{throttled, nil}, [2]bool{}, ErrScoreRange, nil},
		"throttled":            {nil, [2]error{throttled, throttled}, [2]bool{}, shard.ErrThrottled, nil},
		"one throttled":        {nil, [2]error{nil, throttled}, [2]bool{true, false}, shard.ErrUnavailable, nil},
		"one without effect":   {nil, [2]error{throttled, nil}, [2]bool{}, shard.ErrThrottled, nil},
		"unavailable":          {nil, [2]error{throttled, unavailable}, [2]bool{}, shard.ErrUnavailable, nil},
		"the other way":        {nil, [2]error{unavailable, throttled}, [2]bool{}, shard.ErrUnavailable, nil},
		"one unavailable":      {nil, [2]error{unavailable, nil}, [2]bool{false, true}, shard.ErrUnavailable, nil},
		"broken after a write": {nil, [2]error{nil, errBroken}, [2]bool{true, false}, shard.ErrUnavailable, nil},
		"broken":               {nil, [2]error{errBroken, nil}, [2]bool{}, errBroken, nil},
	} {
		p := &playerScores{err: c.of}
		for i, err := range c.errs {
			p.writes = append(p.writes, &entryWrite{err: err, wrote: c.wrote[i]})
		}
		got := p.outcome()
		if !errors.Is(got, c.want) || c.want == nil && got != nil || errors.Is(got, shard.ErrThrottled) != (c.want == shard.ErrThrottled) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestWritesOfAScore checks the put of a new and of a changed entry, and of one that was removed during the call.
func TestWritesOfAScore(t *testing.T) {
	at := time.UnixMilli(noon.UnixMilli()).UTC()
	attempt := noon.Add(time.Minute)
	place := Place{Player: "ann", Score: parsed("7"), At: at}
	n := shard.Calculated("ann", 3)
	for name, c := range map[string]struct {
		held *Entry
		last int64
		rev  int64
	}{
		"new":                  {nil, 0, attempt.UnixMicro()},
		"changed":              {&Entry{Place: Place{Player: "ann", Score: parsed("5")}, Rev: 40, shard: 2}, 40, 41},
		"removed":              {nil, 50, attempt.UnixMicro()},
		"removed by one ahead": {nil, attempt.UnixMicro(), attempt.UnixMicro() + 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := of(&scripted{}, Options{})
			w := &entryWrite{writeCall: &writeCall{boards: l, mode: Best, now: noon, clock: dynamo.StartClock(attempt)}, boardPeriod: allTime, score: PlayerScore{Player: "ann", Score: parsed("7")}, stored: c.held, highestRev: c.last}
			got, ok, err := w.nextWrite(t.Context())
			want := &types.Put{
				TableName: aws.String("t"), Item: allTime.item(place, c.rev, n), ConditionExpression: aws.String("attribute_not_exists(pk)"),
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			}
			if c.held != nil {
				want.ConditionExpression, want.ExpressionAttributeValues = aws.String("rev = :rev"), dynamo.Item{":rev": dynamo.Number(40)}
			}
			if !ok || err != nil || !reflect.DeepEqual(got.Action.Put, want) {
				t.Errorf("%s: %+v, %t, %v; want %+v", name, got.Action.Put, ok, err, want)
			}
			probe := dynamo.Item{
				"pk": dynamo.String(fmt.Sprint("~probe#L#b#all#", n)), "sk": dynamo.String("~probe"), "board_shard": dynamo.String(fmt.Sprint("L#b#all#", n)), "rank_key": dynamo.String("~probe"),
			}
			if a := got.Attempt; a.Key != "L#b" || a.Shard != n || a.Items == 0 || !reflect.DeepEqual(got.Probe, probe) {
				t.Errorf("%s: attempt %+v, probe %v; want %v", name, a, got.Probe, probe)
			}
		})
	}
}

// TestAttemptsOfAScore checks how often an entry of 5 is written by the results of the puts, the result of a score of 7, and
// which write shard of the index is observed: of a failed write the entry's own.
func TestAttemptsOfAScore(t *testing.T) {
	const own = 2
	target := shard.Calculated("ann", 3)
	hot, table := libtest.Hot(libtest.IndexHot), libtest.Hot(libtest.TableHot)
	beaten := entryItem(60)
	damaged := entryItem(60)
	damaged["score"] = dynamo.String("x")
	better := allTime.item(Place{Player: "ann", Score: parsed("9"), At: time.UnixMilli(5).UTC()}, 60, own)
	for name, c := range map[string]struct {
		absent   bool // there is no entry
		deferred bool
		mode     Mode
		puts     []error
		n        int   // puts
		updates  int   // without the index
		shards   []int // of the conclusive attempts
		want     error // of kind
	}{
		"written":                    {false, false, Best, nil, 1, 0, []int{target}, nil},
		"changed meanwhile":          {false, false, Best, []error{failed(beaten)}, 2, 0, []int{own, target}, nil},
		"beaten meanwhile":           {false, false, Best, []error{failed(better)}, 1, 0, []int{own}, nil},
		"removed meanwhile":          {false, false, Best, []error{failed(nil)}, 2, 0, []int{own, target}, nil},
		"damaged meanwhile":          {false, false, Best, []error{failed(damaged)}, 1, 0, []int{own}, errBroken},
		"throttled by the index":     {false, false, Best, []error{hot}, 2, 0, []int{own, target}, nil},
		"a new one's throttle":       {true, false, Best, []error{hot}, 2, 0, []int{target, target}, nil},
		"deferred":                   {false, true, Best, []error{hot}, 1, 1, []int{own}, nil},
		"a new one is not deferred":  {true, true, Best, []error{hot}, 2, 0, []int{target, target}, nil},
		"not deferred for the table": {false, true, Best, []error{table}, 2, 0, []int{target}, nil},
		"changing for ever":          {false, false, Best, slices.Repeat([]error{failed(beaten)}, 99), maxOutrun * dynamo.MaxAttempts, 0, nil, shard.ErrContended},
		"unknown":                    {false, false, Best, []error{&types.InternalServerError{}}, 2, 0, []int{target}, nil},
		"an unknown sum":             {false, false, Total, []error{&types.InternalServerError{}}, 1, 0, nil, shard.ErrUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, w := &scripted{puts: c.puts}, &libtest.Listener{}
			s.Items = []dynamo.Item{settingsItem(string(c.mode), 5, "all", true, 1), entryItem(50)}
			if c.absent {
				s.Items = s.Items[:1]
			}
			err := of(s, Options{Observer: w, DeferRows: c.deferred}).Submit(t.Context(), "b", []PlayerScore{{"ann", parsed("7")}}, noon)[0]
			var shards []int
			for _, a := range w.Attempts {
				shards = append(shards, a.Shard)
				if a.Items == 0 {
					t.Errorf("%s: an attempt without a hash of its players", name)
				}
			}
			if len(s.put) != c.n || len(s.Updated) != c.updates || c.shards != nil && !slices.Equal(shards, c.shards) {
				t.Errorf("%s: %d puts, %d updates, observed %v; want %d, %d, %v", name, len(s.put), len(s.Updated), shards, c.n, c.updates, c.shards)
			}
			if (err == nil) != (c.want == nil) || c.want != nil && c.want != errBroken && !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			if !c.deferred || c.updates == 0 {
				return
			}
			next := s.put[0].Item
			if in := s.Updated[0]; *in.ConditionExpression != "#rev = :rev" || *in.UpdateExpression != "SET #score = :score, #at = :at, #rev = :next" ||
				!reflect.DeepEqual(in.ExpressionAttributeValues, dynamo.Item{":score": next["score"], ":at": next["at"], ":next": dynamo.Number(51), ":rev": dynamo.Number(50)}) {
				t.Errorf("%s: update %+v", name, in)
			}
		})
	}
}

// TestWritesThatWaitAreNotSent checks that 33 writes of a call, of which 32 are made at a time and take too long, leave one
// unsent: it is an ErrThrottled.
func TestWritesThatWaitAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{takes: 800 * time.Millisecond}
		s.Items = []dynamo.Item{settingsItem("best", 5, "all", true, 1)}
		l := of(s, Options{})
		if _, err := l.Settings(t.Context(), "b", noon); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var list []PlayerScore
		for i := range 33 {
			list = append(list, PlayerScore{Player: fmt.Sprint("p", i), Score: parsed("1")})
		}
		unsent := 0
		for _, err := range l.Submit(ctx, "b", list, noon) {
			if errors.Is(err, shard.ErrThrottled) {
				unsent++
			} else if err != nil {
				t.Error(err)
			}
		}
		if unsent != 1 || len(s.put) != 32 {
			t.Errorf("%d writes were sent, %d were not; want 32 and 1", len(s.put), unsent)
		}
	})
}

// TestTransactionsOfScores checks the number of a transaction's writes at its bound, and that errors of reads fail the call.
func TestTransactionsOfScores(t *testing.T) {
	many := func(n int) (list []PlayerScore) {
		for i := range n {
			list = append(list, PlayerScore{Player: fmt.Sprint("p", i), Score: parsed("1")})
		}
		return list
	}
	damaged := entryItem(50)
	damaged["rev"] = dynamo.String("x")
	for name, c := range map[string]struct {
		scores []PlayerScore
		items  []dynamo.Item
		unread error
		n      int
		want   error // errBroken is any
	}{
		"as many as fit":   {many(99), nil, nil, 99, nil},
		"one more":         {many(100), nil, nil, 0, ErrTooMany},
		"without effect":   {[]PlayerScore{{"ann", parsed("5")}, {"bob", parsed("5")}}, []dynamo.Item{entryItem(50)}, nil, 1, nil},
		"no player":        {[]PlayerScore{{"", parsed("5")}}, nil, nil, 0, shard.ErrMisused},
		"a damaged entry":  {[]PlayerScore{{"ann", parsed("7")}}, []dynamo.Item{damaged}, nil, 0, errBroken},
		"entries not read": {[]PlayerScore{{"ann", parsed("7")}}, nil, errBroken, 0, errBroken},
	} {
		s := &scripted{}
		s.Items = append(c.items, settingsItem("best", 5, "all", true, 1))
		l := of(s, Options{})
		if _, err := l.Settings(t.Context(), "b", noon); err != nil {
			t.Fatal(err)
		}
		s.Unread = c.unread
		writes, err := l.SubmitTransact(t.Context(), "b", c.scores, noon, noon)
		if len(writes) != c.n || (err == nil) != (c.want == nil) || c.want != nil && c.want != errBroken && !errors.Is(err, c.want) {
			t.Errorf("%s: %d writes, %v; want %d, %v", name, len(writes), err, c.n, c.want)
		}
		if err := l.Submit(t.Context(), "b", c.scores[:1], noon)[0]; (err == nil) != (c.want == nil || c.want == ErrTooMany) {
			t.Errorf("%s: Submit: %v", name, err)
		}
		for _, in := range s.Read {
			if !*in.RequestItems["t"].ConsistentRead {
				t.Errorf("%s: entries are read eventually consistent", name)
			}
		}
	}
}

// TestMovesOfRows checks the update of an outdated row, and how often it is tried while the entry changes.
func TestMovesOfRows(t *testing.T) {
	late := func() dynamo.Item {
		it := entryItem(50)
		it["row_rev"] = dynamo.Number(49)
		return it
	}
	damaged := entryItem(50)
	damaged["score"] = dynamo.String("x")
	for name, c := range map[string]struct {
		items   []dynamo.Item
		unread  error
		updates []error
		n       int // updates
		moved   int
		want    error
	}{
		"outdated":           {[]dynamo.Item{late()}, nil, nil, 1, 1, nil},
		"current":            {[]dynamo.Item{entryItem(50)}, nil, nil, 0, 0, nil},
		"none":               {nil, nil, nil, 0, 0, nil},
		"damaged":            {[]dynamo.Item{damaged}, nil, nil, 0, 0, nil},
		"not read":           {nil, errBroken, nil, 0, 0, errBroken},
		"changed once":       {[]dynamo.Item{late()}, nil, []error{failed(nil)}, 2, 1, nil},
		"changed four times": {[]dynamo.Item{late()}, nil, slices.Repeat([]error{failed(nil)}, 4), 5, 1, nil},
		"changed five times": {[]dynamo.Item{late()}, nil, slices.Repeat([]error{failed(nil)}, 5), 5, 0, shard.ErrContended},
		"throttled":          {[]dynamo.Item{late()}, nil, []error{libtest.Hot(libtest.IndexHot)}, 1, 0, shard.ErrThrottled},
	} {
		s := &scripted{}
		s.Items, s.Unread, s.Updates = c.items, c.unread, c.updates
		moved, err := of(s, Options{}).MoveRows(t.Context(), "b", "all", []string{"ann"}, noon)
		if moved != c.moved || (err == nil) != (c.want == nil) || !errors.Is(err, c.want) || len(s.Updated) != c.n {
			t.Errorf("%s: %d moved in %d updates, %v; want %d in %d, %v", name, moved, len(s.Updated), err, c.moved, c.n, c.want)
		}
		for _, in := range s.Updated {
			n := shard.Calculated("ann", 3)
			want := dynamo.Item{":shard": dynamo.String(fmt.Sprint("L#b#all#", n)), ":key": entryItem(50)["rank_key"], ":rev": dynamo.Number(50)}
			if !reflect.DeepEqual(in.ExpressionAttributeValues, want) || !reflect.DeepEqual(in.Key, dynamo.Key(schema.EntryKey("b", "all", "ann"))) ||
				*in.ConditionExpression != "#rev = :rev" || *in.UpdateExpression != "SET #shard = :shard, #key = :key, #row = :rev" {
				t.Errorf("%s: update %+v, want the values %v", name, in, want)
			}
		}
	}
}
