package boards

import (
	"fmt"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Mode decides what a new score does to a player's entry. The constants are its only values.
type Mode string

// The modes.
const (
	// Best keeps the highest score, and the time at which it was first reached.
	Best Mode = "best"
	// Latest keeps the newest score by the time of the call.
	Latest Mode = "latest"
	// Total adds scores up. The entry's time is that of the newest score other than 0.
	Total Mode = "sum"
)

// Period is a kind of period. The constants are its only values.
type Period string

// The periods begin at midnight UTC. Weeks are those of ISO 8601.
const (
	AllTime Period = "all"
	Daily   Period = "day"
	Weekly  Period = "week"
)

// Label returns the label of the period that contains t, as in keys: all, 2026-01-05 or 2026-W02.
func (p Period) Label(t time.Time) string {
	switch t = t.UTC(); p {
	case Daily:
		return t.Format(time.DateOnly)
	case Weekly:
		year, week := t.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	}
	return string(AllTime)
}

// End returns the first instant after the period that contains t; zero for AllTime.
func (p Period) End(t time.Time) time.Time {
	day := t.UTC().Truncate(24 * time.Hour)
	switch p {
	case Daily:
		return day.AddDate(0, 0, 1)
	case Weekly:
		return day.AddDate(0, 0, 7-(int(day.Weekday())+6)%7)
	}
	return time.Time{}
}

// Place is a player's place on a board, by the score and the time at which it was reached.
type Place struct {
	Player string
	Score  Score
	At     time.Time // to the millisecond
}

// RankKey returns a sort key by rank: higher scores sort first, then earlier times, then players.
func (p Place) RankKey() string {
	return p.Score.rankText() + fmt.Sprintf("%0*d", timeDigits, max(0, p.At.UnixMilli())) + "#" + p.Player
}

// ParseRankKey returns the place of a RankKey.
func ParseRankKey(key string) (Place, error) {
	const n = rankDigits + timeDigits
	fault := &shard.KeyError{Key: key, Reason: "it is not a rank key"}
	if len(key) <= n || key[n] != '#' {
		return Place{}, fault
	}
	score, err := parseRankText(key[:rankDigits])
	millis, err2 := strconv.ParseInt(key[rankDigits:n], 10, 64)
	if err != nil || err2 != nil {
		return Place{}, fault
	}
	return Place{Player: key[n+1:], Score: score, At: time.UnixMilli(millis).UTC()}, nil
}

// ScoreBound returns the least rank key of a score. It sorts before all places with the score,
// and after all places with higher scores. Use it with [Reader.Count].
func ScoreBound(s Score) string { return s.rankText() }

const timeDigits = 15
