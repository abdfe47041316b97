package folds

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// sent is an event of a call of the API.
type sent struct {
	Entity string                     `json:"entity"`
	ID     string                     `json:"id,omitempty"`
	Time   string                     `json:"time,omitempty"`
	Data   map[string]json.RawMessage `json:"data,omitempty"`
}

// drawer draws events.
type drawer struct {
	random  *rand.Rand
	entropy io.Reader // of ULIDs
	zipf    *rand.Zipf
	began   time.Time
	prefix  string // of ids
	drawn   int
}

func newDrawer(r *system, id int) *drawer {
	random := rand.New(rand.NewPCG(r.o.Seed, uint64(200+id)))
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(random.Uint32())
	}
	return &drawer{
		random: random, entropy: rand.NewChaCha8(seed), began: r.began,
		zipf: rand.NewZipf(random, 1.1, 1, uint64(r.o.Entities-1)), prefix: fmt.Sprintf("%d/%d#", r.o.Seed, id),
	}
}

// dayEvery of the entities is rolled up by the day, the others by the hour.
const dayEvery = 3

// entityName names one; names may hold the separator.
func entityName(i int) string {
	if i%dayEvery == 0 {
		return fmt.Sprintf("%se#%d", dayPrefix, i)
	}
	return fmt.Sprintf("e#%d", i)
}

// event draws a new event. Some have no id, some no time, few neither.
func (d *drawer) event() sent {
	d.drawn++
	at := d.time()
	ev := sent{Entity: entityName(int(d.zipf.Uint64())), Data: d.data()}
	switch n := d.random.IntN(100); {
	case n < 75:
		ev.ID, ev.Time = fmt.Sprint(d.prefix, d.drawn), d.format(at)
	case n < 85:
		ev.ID = ulid.MustNew(ulid.Timestamp(at), d.entropy).String()
	case n < 95:
		ev.Time = d.format(at)
	}
	return ev
}

// time draws one of the last hours: at any moment, next to the end of an hour or
// of a day, or about now.
func (d *drawer) time() time.Time {
	near := time.Duration(d.random.IntN(5)-2) * time.Millisecond
	switch n := d.random.IntN(100); {
	case n < 45:
		return d.began.Add(-time.Duration(d.random.Int64N(int64(3 * time.Hour))))
	case n < 60:
		return d.began.Truncate(time.Hour).Add(near - time.Duration(d.random.IntN(3))*time.Hour)
	case n < 75:
		return d.began.Truncate(24 * time.Hour).Add(near - time.Duration(d.random.IntN(2))*24*time.Hour)
	}
	return time.Now().Add(time.Duration(d.random.IntN(5000)-3500) * time.Millisecond)
}

// zones in which times are written.
var zones = []*time.Location{time.UTC, time.UTC, time.UTC, time.FixedZone("", 19_800), time.FixedZone("", -10_800)}

func (d *drawer) format(t time.Time) string {
	return t.In(zones[d.random.IntN(len(zones))]).Format(time.RFC3339Nano)
}

// data draws an event's data: numbers, of which few are too wide to be rolled up,
// and things that are no numbers.
func (d *drawer) data() map[string]json.RawMessage {
	data := map[string]json.RawMessage{}
	add := func(perCent int, field, text string) {
		if d.random.IntN(100) < perCent {
			data[field] = json.RawMessage(text)
		}
	}
	add(90, "t", d.decimal())
	add(60, "n", d.whole())
	add(15, "w", d.wide())
	add(20, "s", d.text())
	return data
}

func (d *drawer) decimal() string {
	return fmt.Sprintf("%.*f", d.random.IntN(4), (d.random.Float64()-0.3)*1000)
}

func (d *drawer) whole() string { return fmt.Sprint(d.random.IntN(2000) - 700) }

// wide draws numbers at and beyond the bounds.
func (d *drawer) wide() string {
	return []string{
		"999999999999999", "-1e15", "0.000000000000001", "123456.789012345", "9007199254740993",
		"1.0000000000000001", "2e15", "1e-16", "12345678901234567890.123456789", "1e120", "-1e-120",
	}[d.random.IntN(11)]
}

func (d *drawer) text() string {
	return []string{`"21.5"`, "true", "null", `{"t":1}`, "[1,2]", `""`}[d.random.IntN(6)]
}

// again returns an event as it is sent a second time: with the same data, maybe
// written otherwise, or with other data.
func (d *drawer) again(ev sent) sent {
	n := d.random.IntN(100)
	if n < 30 {
		ev.Data = d.data()
		return ev
	}
	same := map[string]json.RawMessage{}
	for field, text := range ev.Data {
		if n < 60 {
			text = respell(text)
		}
		same[field] = text
	}
	ev.Data = same
	return ev
}

// respell writes a number with a digit more; other values stay.
func respell(text json.RawMessage) json.RawMessage {
	s := string(text)
	switch {
	case strings.Trim(s, "-0123456789.") != "":
		return text
	case strings.Contains(s, "."):
		return json.RawMessage(s + "0")
	}
	return json.RawMessage(s + ".0")
}
