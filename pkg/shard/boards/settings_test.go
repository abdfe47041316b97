package boards

import (
	"errors"
	"reflect"
	"slices"
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

// TestStoredSettings checks the settings of stored items, and their defaults.
func TestStoredSettings(t *testing.T) {
	ownSize := settingsItem("best", 0, "all", false, 0)
	ownSize["size"] = dynamo.String("x")
	for name, c := range map[string]struct {
		it   dynamo.Item
		want Settings // the zero value for an error
	}{
		"none":           {nil, Settings{Best, 100, []Period{AllTime}}},
		"an empty item":  {settingsKey("b"), Settings{Best, 100, []Period{AllTime}}},
		"all":            {settingsItem("sum", 1000, "week,day,all,day", true, 1), Settings{Total, 1000, []Period{AllTime, Daily, Weekly}}},
		"the least":      {settingsItem("latest", 1, "week", true, 1), Settings{Latest, 1, []Period{Weekly}}},
		"too large":      {settingsItem("best", 1001, "all", true, 1), Settings{}},
		"negative":       {settingsItem("best", -1, "all", true, 1), Settings{}},
		"another mode":   {settingsItem("worst", 5, "all", true, 1), Settings{}},
		"another period": {settingsItem("best", 5, "year", true, 1), Settings{}},
		"less is better": {settingsItem("lowest", 5, "month,all", true, 1), Settings{Lowest, 5, []Period{AllTime, Monthly}}},
		"damaged":        {ownSize, Settings{}},
	} {
		s := &scripted{}
		if c.it != nil {
			s.Items = []dynamo.Item{c.it}
		}
		got, err := of(s, Options{}).Settings(t.Context(), "b", noon)
		if want := c.want.Mode != ""; (err == nil) != want || want && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

// TestSettingsAreCached checks that settings are read again after 3 s, or if the clock was set back as far, that a failed
// read is not cached, and that the caller may change what it gets.
func TestSettingsAreCached(t *testing.T) {
	s := &scripted{}
	s.Items = []dynamo.Item{settingsItem("best", 5, "all,day", true, 1)}
	l := of(s, Options{})
	for i, c := range []struct {
		after time.Duration
		err   error
		reads int // so far
	}{
		{0, nil, 1}, {3 * time.Second, nil, 1}, {-3 * time.Second, nil, 1}, {3*time.Second + 1, errBroken, 2}, {3*time.Second + 1, nil, 3}, {0, nil, 4}, {3 * time.Second, nil, 4},
	} {
		s.Unread = c.err
		got, err := l.Settings(t.Context(), "b", noon.Add(c.after))
		if !errors.Is(err, c.err) || len(s.Read) != c.reads || err == nil && !slices.Equal(got.Periods, []Period{AllTime, Daily}) {
			t.Errorf("read %d: %+v, %v after %d reads; want %d, %v", i, got, err, len(s.Read), c.reads, c.err)
		}
		if err == nil {
			got.Periods[0] = Weekly
		}
	}
	if !*s.Read[0].RequestItems["t"].ConsistentRead {
		t.Error("settings are read eventually consistent")
	}
}

// TestConfigure checks the update of settings and its outcomes by the stored item.
func TestConfigure(t *testing.T) {
	same := settingsItem("sum", 7, "all,week", false, 3)
	damaged := settingsItem("sum", 7, "all", false, 3)
	damaged["size"] = dynamo.String("x")
	badRev := settingsItem("sum", 7, "all", false, 0)
	badRev["rev"] = dynamo.String("x")
	for name, c := range map[string]struct {
		it      dynamo.Item
		unread  error
		updates []error
		n       int // updates
		want    error
	}{
		"new":                         {nil, nil, nil, 1, nil},
		"changed":                     {settingsItem("best", 7, "all", false, 3), nil, nil, 1, nil},
		"not read":                    {nil, errBroken, nil, 0, errBroken},
		"a damaged rev":               {badRev, nil, nil, 0, errBroken},
		"its mode is fixed":           {nil, nil, []error{failed(settingsItem("best", 7, "all", true, 3))}, 1, ErrModeFixed},
		"applied by a lost attempt":   {nil, nil, []error{failed(same)}, 1, nil},
		"applied, with its mode used": {nil, nil, []error{failed(settingsItem("sum", 7, "all,week", true, 3))}, 1, nil},
		"changed meanwhile":           {nil, nil, []error{failed(settingsItem("best", 7, "all,week", false, 3))}, 2, nil},
		"its size changed meanwhile":  {nil, nil, []error{failed(settingsItem("sum", 8, "all,week", true, 3))}, 2, nil},
		"damaged meanwhile":           {nil, nil, []error{failed(damaged)}, 1, errBroken},
		"throttled":                   {nil, nil, []error{libtest.Hot(libtest.TableHot)}, 2, nil},
		"broken":                      {nil, nil, []error{errBroken}, 1, errBroken},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{}
			s.Unread, s.Updates = c.unread, c.updates
			if c.it != nil {
				s.Items = []dynamo.Item{c.it}
			}
			err := of(s, Options{}).Configure(t.Context(), "b", Settings{Mode: Total, Size: 7, Periods: []Period{Weekly, AllTime}})
			if (err == nil) != (c.want == nil) || c.want == ErrModeFixed && !errors.Is(err, ErrModeFixed) || len(s.Updated) != c.n {
				t.Errorf("%s: %v after %d updates, want %v after %d", name, err, len(s.Updated), c.want, c.n)
			}
			if c.n == 0 {
				return
			}
			values := dynamo.Item{
				":mode": dynamo.String("sum"), ":size": dynamo.Number(7), ":periods": dynamo.String("all,week"), ":v": dynamo.Number(1),
				":false": &types.AttributeValueMemberBOOL{}, ":next": dynamo.Number(1),
			}
			unchanged := "attribute_not_exists(rev)"
			if c.it != nil {
				unchanged, values[":rev"], values[":next"] = "rev = :rev", dynamo.Number(3), dynamo.Number(4)
			}
			want := &dynamodb.UpdateItemInput{
				TableName: aws.String("t"), Key: settingsKey("b"), ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
				UpdateExpression:         aws.String("SET #mode = :mode, #size = :size, #periods = :periods, #v = :v, #used = if_not_exists(#used, :false), rev = :next"),
				ConditionExpression:      aws.String(unchanged + " AND (attribute_not_exists(#used) OR #used = :false OR #mode = :mode)"),
				ExpressionAttributeNames: map[string]string{"#mode": "mode", "#size": "size", "#periods": "periods", "#used": "used", "#v": "v"}, ExpressionAttributeValues: values,
			}
			if !reflect.DeepEqual(s.Updated[0], want) {
				t.Errorf("%s: update %+v, want %+v", name, s.Updated[0], want)
			}
		})
	}
	s := &scripted{}
	s.Items = []dynamo.Item{settingsItem("best", 5, "all", true, 1)}
	l := of(s, Options{})
	before, _ := l.Settings(t.Context(), "b", noon)
	s.Items = []dynamo.Item{settingsItem("best", 6, "all", true, 2)}
	if err := l.Configure(t.Context(), "b", Settings{Size: 6}); err != nil {
		t.Fatal(err)
	}
	if after, err := l.Settings(t.Context(), "b", noon); before.Size != 5 || after.Size != 6 || err != nil {
		t.Errorf("size %d before Configure and %d after it, %v; want 5 and 6", before.Size, after.Size, err)
	}
	for _, bad := range []Settings{{Mode: "worst"}, {Size: 1001}, {Size: -1}, {Periods: []Period{"year"}}} {
		if err := l.Configure(t.Context(), "b", bad); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%+v: error %v, want ErrMisused", bad, err)
		}
	}
}

// TestModeIsFixed checks how often the first score marks its board as used, with the settings that it finds, and that it gives
// up after ten changes by others.
func TestModeIsFixed(t *testing.T) {
	other := failed(settingsItem("latest", 5, "all", false, 3))
	used := settingsItem("best", 5, "all", true, 1)
	for name, c := range map[string]struct {
		it      dynamo.Item
		updates []error
		n       int // updates
		mode    Mode
		want    error
	}{
		"used before":         {settingsItem("sum", 5, "all", true, 1), nil, 0, Total, nil},
		"the first":           {nil, nil, 1, Best, nil},
		"configured once":     {nil, []error{other}, 2, Best, nil},
		"fixed by another":    {nil, []error{failed(settingsItem("latest", 5, "all", true, 3))}, 1, Latest, nil},
		"configured nine":     {nil, slices.Repeat([]error{other}, 9), 10, Best, nil},
		"configured ten":      {nil, slices.Repeat([]error{other}, 10), 10, "", shard.ErrContended},
		"broken":              {nil, []error{errBroken}, 1, "", errBroken},
		"found to be damaged": {nil, []error{failed(settingsItem("worst", 5, "all", true, 3))}, 1, "", errDamaged},
	} {
		s := &scripted{}
		s.Updates, s.Stored = c.updates, used
		if c.it != nil {
			s.Items = []dynamo.Item{c.it}
		}
		known, err := of(s, Options{}).fixModeAndRead(t.Context(), "b", noon)
		if (err == nil) != (c.want == nil) || c.want != errDamaged && !errors.Is(err, c.want) || err == nil && known.Mode != c.mode || len(s.Updated) != c.n {
			t.Errorf("%s: %+v, %v after %d updates; want %s, %v after %d", name, known, err, len(s.Updated), c.mode, c.want, c.n)
		}
		for i, in := range s.Updated {
			mode := "best"
			if i > 0 {
				mode = "latest"
			}
			if got := dynamo.Text(in.ExpressionAttributeValues, ":mode"); got != mode || *in.ConditionExpression != "attribute_not_exists(#mode) OR #mode = :mode" || !dynamo.Bool(in.ExpressionAttributeValues, ":true") {
				t.Errorf("%s: update %d of the mode %s, %+v", name, i, got, in)
			}
		}
	}
}

var errDamaged = errors.New("any")

// TestReadEntries checks which of the stored entries are returned: none that has expired.
func TestReadEntries(t *testing.T) {
	expiring := func(player string, after int64) dynamo.Item {
		s := boardPeriod{board: "b", label: "all", expires: time.Unix(noon.Unix()+after, 0)}
		return s.item(Place{Player: player, Score: parsed("5"), At: time.UnixMilli(5).UTC()}, 7, 0)
	}
	damaged := expiring("cat", 1)
	damaged["score"] = dynamo.String("x")
	s := &scripted{}
	s.Items = []dynamo.Item{entryItem(50), expiring("bob", 0), damaged, expiring("dan", 1)}
	l := of(s, Options{})
	found, err := l.Entries(t.Context(), "b", "all", []string{"ann", "bob", "cat", "dan", "eve"}, noon)
	bad, ok := errors.AsType[DamagedEntries](err)
	if !ok || len(bad) != 1 || bad["cat"] == nil || len(found) != 2 || found["ann"].Rev != 50 || found["dan"].Rev != 7 || !*s.Read[0].RequestItems["t"].ConsistentRead {
		t.Errorf("Entries = %+v, %v; want ann and dan, and cat damaged, by a consistent read", found, err)
	}
	for player, want := range map[string]error{"ann": nil, "bob": shard.ErrNotFound, "eve": shard.ErrNotFound} {
		if e, err := l.Entry(t.Context(), "b", "all", player, noon); !errors.Is(err, want) || err == nil && e.Player != player {
			t.Errorf("Entry of %s = %+v, %v; want %v", player, e, err, want)
		}
	}
	s.Unread = errBroken
	if _, err := l.Entry(t.Context(), "b", "all", "ann", noon); !errors.Is(err, errBroken) {
		t.Errorf("Entry: %v", err)
	}
}

// rowOf returns a row of the index.
func rowOf(player, score string, rev int64) dynamo.Item {
	return dynamo.Item{"rank_key": dynamo.String(Place{Player: player, Score: parsed(score), At: time.UnixMilli(5)}.RankKey()), "row_rev": dynamo.Number(rev)}
}

// TestTopOfNoBoard checks that the top of a board without places is empty if the board has settings, and otherwise an
// error of kind ErrNotFound.
func TestTopOfNoBoard(t *testing.T) {
	for name, c := range map[string]struct {
		settings []dynamo.Item
		want     error
	}{
		"no board": {nil, shard.ErrNotFound},
		"a board":  {[]dynamo.Item{settingsItem("best", 9, "all", false, 1)}, nil},
	} {
		s := &scripted{}
		s.Items = c.settings
		if places, err := of(s, Options{}).Top(t.Context(), "b", "all", 9, noon); len(places) != 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, places, err, c.want)
		}
	}
}

// TestReadsOfTheIndex checks the queries of reads of a board, what they return, and that they pass errors on. Expired and
// damaged rows, and older rows of a player, are left out.
func TestReadsOfTheIndex(t *testing.T) {
	ann := Place{Player: "ann", Score: parsed("5"), At: time.UnixMilli(5).UTC()}
	expired, noKey, noRev := rowOf("old", "6", 1), rowOf("x", "6", 1), rowOf("y", "6", 1)
	expired["expires_at"], noKey["rank_key"], noRev["row_rev"] = dynamo.Number(noon.Unix()), dynamo.String("x"), dynamo.String("x")
	rows := []dynamo.Item{noKey, expired, noRev, rowOf("bob", "6", 8), rowOf("bob", "5.5", 9), rowOf("bob", "5.4", 9), rowOf("cat", "5.3", 1)}
	count := func(l *Boards, from, to string, limit int) ([]Place, error) {
		n, more, err := l.Count(t.Context(), "b", "all", from, to, limit, noon)
		if more {
			n += 1000
		}
		return make([]Place, n), err
	}
	for name, c := range map[string]struct {
		read      func(l *Boards) ([]Place, error)
		low, high string // of the first query; "" for none
		forward   bool
		queries   int
		players   string
	}{
		"top":      {func(l *Boards) ([]Place, error) { return l.Top(t.Context(), "b", "all", 9, noon) }, "0", "~", true, 3, "bob 5.5, cat 5.3"},
		"top of 1": {func(l *Boards) ([]Place, error) { return l.Top(t.Context(), "b", "all", 1, noon) }, "0", "~", true, 3, "bob 6"},
		"top of 0": {func(l *Boards) ([]Place, error) { return l.Top(t.Context(), "b", "all", 0, noon) }, "", "", false, 0, ""},
		"below": {func(l *Boards) ([]Place, error) {
			_, below, err := l.Around(t.Context(), "b", "all", ann, 3, noon)
			return below, err
		}, "0", ann.RankKey(), false, 6, ""},
		"around 0": {func(l *Boards) ([]Place, error) {
			_, below, err := l.Around(t.Context(), "b", "all", ann, 0, noon)
			return below, err
		}, "", "", false, 0, ""},
		"count":      {func(l *Boards) ([]Place, error) { return count(l, "", "", 9) }, "0", "~", true, 3, " 0,  0"},
		"count to 1": {func(l *Boards) ([]Place, error) { return count(l, "", "", 1) }, "0", "~", true, 3, " 0,  0"},
		"count to 0": {func(l *Boards) ([]Place, error) { return count(l, "", "", 0) }, "", "", true, 0, "more"},
		"count before": {func(l *Boards) ([]Place, error) {
			return count(l, "00", rowOf("cat", "1", 1)["rank_key"].(*types.AttributeValueMemberS).Value, 9)
		}, "00", Place{Player: "cat", Score: parsed("1"), At: time.UnixMilli(5)}.RankKey(), true, 3, " 0"},
		"count nothing": {func(l *Boards) ([]Place, error) { return count(l, "1", "1", 9) }, "", "", true, 0, ""},
	} {
		s := &scripted{rows: rows}
		got, err := c.read(of(s, Options{}))
		text := ""
		for i, p := range got {
			if i > 0 {
				text += ", "
			}
			text += p.Player + " " + p.Score.String()
		}
		if len(got) >= 1000 {
			text = "more"
		}
		if name == "below" {
			text = ""
		}
		s.mu.Lock()
		queried := slices.Clone(s.queried)
		s.mu.Unlock()
		if err != nil || text != c.players || len(queried) != c.queries {
			t.Errorf("%s: %q, %v in %d queries; want %q in %d", name, text, err, len(queried), c.players, c.queries)
		}
		if c.queries == 0 {
			continue
		}
		in := *queried[0]
		if name == "below" {
			in = *queried[slices.IndexFunc(queried, func(in *dynamodb.QueryInput) bool { return !*in.ScanIndexForward })]
		}
		want := dynamodb.QueryInput{
			TableName: aws.String("t"), IndexName: aws.String(schema.ByRank), KeyConditionExpression: aws.String("board_shard = :shard AND rank_key BETWEEN :low AND :high"),
			ProjectionExpression: aws.String("rank_key, row_rev, expires_at"), ScanIndexForward: &c.forward, Limit: in.Limit,
			ExpressionAttributeValues: dynamo.Item{":shard": in.ExpressionAttributeValues[":shard"], ":low": dynamo.String(c.low), ":high": dynamo.String(c.high)},
		}
		if !reflect.DeepEqual(in, want) {
			t.Errorf("%s: query %+v, want %+v", name, in, want)
		}
		s = &scripted{unqueried: errBroken}
		if _, err := c.read(of(s, Options{})); !errors.Is(err, errBroken) {
			t.Errorf("%s: error %v, want the query's", name, err)
		}
	}
}
