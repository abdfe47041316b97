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
	// Lowest keeps the lowest score, and the time at which it was first reached. Less is better: the lowest score ranks
	// first.
	Lowest Mode = "lowest"
	// Latest keeps the newest score by the time of the call.
	Latest Mode = "latest"
	// Total adds scores up. The entry's time is that of the newest score other than 0.
	Total Mode = "sum"
)

// isBetter reports whether a score is better than another: lower in mode Lowest, otherwise higher.
func (m Mode) isBetter(s, than Score) bool {
	if m == Lowest {
		return s.Cmp(than) < 0
	}
	return s.Cmp(than) > 0
}

// Period is a kind of period. The constants are its only values.
type Period string

// The periods begin at midnight UTC. Weeks are those of ISO 8601.
const (
	AllTime Period = "all"
	Daily   Period = "day"
	Weekly  Period = "week"
	Monthly Period = "month"
)

// Periods returns all periods, in the order in which settings are stored.
func Periods() []Period { return []Period{AllTime, Daily, Weekly, Monthly} }

// Label returns the label of the period that contains t, as in keys: all, 2026-01-05, 2026-W02 or 2026-01.
func (p Period) Label(t time.Time) string {
	switch t = t.UTC(); p {
	case Daily:
		return t.Format(time.DateOnly)
	case Weekly:
		year, week := t.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	case Monthly:
		return t.Format("2006-01")
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
		daysSinceMonday := (int(day.Weekday()) + 6) % 7
		return day.AddDate(0, 0, 7-daysSinceMonday)
	case Monthly:
		return day.AddDate(0, 1, 1-day.Day())
	}
	return time.Time{}
}

// Place is a player's place on a board, by the score and the time at which it was reached.
type Place struct {
	Player string
	Score  Score
	At     time.Time // to the millisecond
	Lowest bool      // less is better, as on a board with mode Lowest
}

// Merit returns the number that ranks the place, the highest first: the score, or its negative if less is better.
func (p Place) Merit() Score {
	if p.Lowest {
		return p.Score.negative()
	}
	return p.Score
}

// RankKey returns a sort key by rank: higher merits sort first, then earlier times, then players.
func (p Place) RankKey() string {
	end := highestFirst
	if p.Lowest {
		end = lowestFirst
	}
	return p.Merit().rankText() + fmt.Sprintf("%0*d", timeDigits, max(0, p.At.UnixMilli())) + string(end) + p.Player
}

// The separators before the player in a rank key.
const (
	highestFirst byte = '#'
	lowestFirst  byte = '<'
)

// ParseRankKey returns the place of a key that [Place.RankKey] returned. For any other key it returns a *[shard.KeyError].
func ParseRankKey(key string) (Place, error) {
	const n = rankDigits + timeDigits
	fault := &shard.KeyError{Key: key, Reason: "it is not a rank key"}
	if len(key) <= n || key[n] != highestFirst && key[n] != lowestFirst {
		return Place{}, fault
	}
	merit, err := parseRankText(key[:rankDigits])
	millis, err2 := strconv.ParseInt(key[rankDigits:n], 10, 64)
	if err != nil || err2 != nil {
		return Place{}, fault
	}
	p := Place{Player: key[n+1:], Score: merit, At: time.UnixMilli(millis).UTC(), Lowest: key[n] == lowestFirst}
	p.Score = p.Merit() // negates the merit again if less is better
	return p, nil
}

// MeritBound returns the least rank key of a merit, for [Reader.Count]. It sorts before the rank keys of all places
// with the merit, and after those of all places with higher merits.
func MeritBound(merit Score) string { return merit.rankText() }

const timeDigits = 15 // of a time in a rank key, in Unix milliseconds
