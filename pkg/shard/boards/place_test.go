package boards

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// scores draws large scores, and small ones that are often equal, with and without decimals.
func scores(t *rapid.T, label string) Score {
	text := rapid.OneOf(
		rapid.StringMatching(`-?[0-9]{1,18}`), rapid.StringMatching(`-?[0-9]{1,18}\.[0-9]{1,9}`),
		rapid.StringMatching(`-?[0-2](\.[0-2])?`), rapid.StringMatching(`-?[1-9]e[0-9]`),
	).Draw(t, label)
	s, err := ParseScore(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return s
}

// TestScoresAreExactAndInOrder checks that text, order, sums and rank texts of scores are exact, and that out-of-range
// texts are rejected.
func TestScoresAreExactAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := scores(t, "a"), scores(t, "b")
		again, err := ParseScore(a.String())
		if err != nil || again != a {
			t.Fatalf("ParseScore(%q) = %v, %v", a.String(), again, err)
		}
		if got := strings.Compare(b.rankText(), a.rankText()); got != a.Cmp(b) {
			t.Fatalf("%v and %v: rank texts compare as %d, want %d", a, b, got, a.Cmp(b))
		}
		if sum, ok := a.Add(b); ok {
			minus := "-" + b.String()
			if strings.HasPrefix(b.String(), "-") {
				minus = b.String()[1:]
			}
			less, err := ParseScore(minus)
			if back, ok := sum.Add(less); err != nil || !ok || back != a || less != b.negative() {
				t.Fatalf("%v + %v - %v = %v, %v", a, b, b, back, err)
			}
		}
		if a.Cmp(b) < 0 && a.Float() > b.Float() {
			t.Fatalf("%v < %v, and their floats are %v and %v", a, b, a.Float(), b.Float())
		}
	})
	for _, bad := range []string{"", "x", "1e18", "-1e18", "1e19", "1/2", "0x10", "1_000", "Inf", "NaN", "1e999999999", "e5", "--1", strings.Repeat("1", 70), "0." + strings.Repeat("3", 39), "1." + strings.Repeat("3", 38), "999999999999999999.9999999995", "1e-401"} {
		if s, err := ParseScore(bad); err == nil {
			t.Errorf("ParseScore(%q) = %v, want an error", bad, s)
		}
	}
	for text, want := range map[string]string{"999999999999999999.999999999": "999999999999999999.999999999", "-999999999999999999.999999999": "-999999999999999999.999999999",
		"-0": "0", "1.50": "1.5", "-0.5": "-0.5", "1.5E3": "1500", "+7": "7",
		"66.66666666666667": "66.666666667", "-66.66666666666667": "-66.666666667", "0.0000000005": "0", "0.0000000015": "0.000000002", "-0.0000000025": "-0.000000002",
		"0.00000000050001": "0.000000001", "0." + strings.Repeat("3", 38): "0.333333333", "1." + strings.Repeat("0", 50): "1", "5e-324": "0", "1" + strings.Repeat("0", 40) + "e-30": "10000000000", "-0.0000000004": "0", "9999999999999999999e-2": "99999999999999999.99", "0e30": "0", "999999999999999999.9999999994": "999999999999999999.999999999"} {
		if s, err := ParseScore(text); err != nil || s.String() != want {
			t.Errorf("ParseScore(%q) = %v, %v; want %s", text, s, err, want)
		}
	}
}

// TestRankKeysOrderByScoreThenTimeThenPlayer checks the order of rank keys, their parsing, and the bound of a score.
func TestRankKeysOrderByScoreThenTimeThenPlayer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lowest := rapid.Bool().Draw(t, "lowest")
		place := func(label string) Place {
			return Place{
				Player: rapid.StringN(1, 5, 20).Draw(t, label), Score: scores(t, label+" score"),
				At: time.UnixMilli(rapid.Int64Range(0, 3).Draw(t, label+" at")).UTC(), Lowest: lowest,
			}
		}
		a, b := place("a"), place("b")
		want := b.Score.Cmp(a.Score)
		if lowest {
			want = -want
		}
		if want == 0 {
			want = a.At.Compare(b.At)
		}
		if want == 0 {
			want = strings.Compare(a.Player, b.Player)
		}
		if got := strings.Compare(a.RankKey(), b.RankKey()); got != want {
			t.Fatalf("rank keys of %+v and %+v compare as %d, want %d", a, b, got, want)
		}
		if got, err := ParseRankKey(a.RankKey()); err != nil || got != a {
			t.Fatalf("ParseRankKey(%q) = %+v, %v; want %+v", a.RankKey(), got, err, a)
		}
		if bound := MeritBound(a.Merit()); bound > a.RankKey() || a.Merit().Cmp(b.Merit()) < 0 && bound < b.RankKey() {
			t.Fatalf("bound %q of %v, rank keys %q and %q", bound, a.Score, a.RankKey(), b.RankKey())
		}
	})
}

// TestPeriods checks labels and ends of days, ISO weeks and months in UTC.
func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		at, day, week, month, dayEnd, weekEnd, monthEnd string
	}{
		{"2026-01-05T00:00:00Z", "2026-01-05", "2026-W02", "2026-01", "2026-01-06T00:00:00Z", "2026-01-12T00:00:00Z", "2026-02-01T00:00:00Z"},
		{"2026-01-04T23:59:59Z", "2026-01-04", "2026-W01", "2026-01", "2026-01-05T00:00:00Z", "2026-01-05T00:00:00Z", "2026-02-01T00:00:00Z"},
		{"2027-01-02T12:00:00+14:00", "2027-01-01", "2026-W53", "2027-01", "2027-01-02T00:00:00Z", "2027-01-04T00:00:00Z", "2027-02-01T00:00:00Z"},
		{"2028-01-31T23:59:59Z", "2028-01-31", "2028-W05", "2028-01", "2028-02-01T00:00:00Z", "2028-02-07T00:00:00Z", "2028-02-01T00:00:00Z"},
		{"2028-03-01T00:30:00+01:00", "2028-02-29", "2028-W09", "2028-02", "2028-03-01T00:00:00Z", "2028-03-06T00:00:00Z", "2028-03-01T00:00:00Z"},
		{"2027-12-31T00:00:00Z", "2027-12-31", "2027-W52", "2027-12", "2028-01-01T00:00:00Z", "2028-01-03T00:00:00Z", "2028-01-01T00:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range Periods()[1:] {
			got = append(got, p.Label(at), p.End(at).Format(time.RFC3339))
		}
		if want := []string{c.day, c.dayEnd, c.week, c.weekEnd, c.month, c.monthEnd}; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", c.at, got, want)
		}
	}
	if at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC); AllTime.Label(at) != "all" || !AllTime.End(at).IsZero() {
		t.Errorf("all time has label %q and end %v, want all and none", AllTime.Label(at), AllTime.End(at))
	}
}
