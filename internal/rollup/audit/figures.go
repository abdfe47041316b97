package audit

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/internal/rollup/measures"
)

// Figures are what a summary says, or what items come to: a rev and a value of a
// counter's write shard, or the events of a bucket.
type Figures struct {
	Rev      *big.Int          `json:"rev,omitempty"`
	Value    *big.Int          `json:"value,omitempty"`
	Events   *int64            `json:"events,omitempty"`
	Entries  *int64            `json:"entries,omitempty"`
	Measures map[string]Amount `json:"measures,omitempty"` // by field
	Skipped  int64             `json:"skipped,omitempty"`
	Restated bool              `json:"restated,omitempty"`
}

// Amount is what the numbers of one field come to.
type Amount struct {
	Count int64            `json:"count"`
	Sum   measures.Decimal `json:"sum"`
	Min   measures.Decimal `json:"min"`
	Max   measures.Decimal `json:"max"`
}

// figuresOf is nil for a state that there is not.
func figuresOf(s *state) *Figures {
	if s == nil {
		return nil
	}
	return &Figures{Rev: s.rev, Value: s.value}
}

func figuresOfEvents(p measures.Part) *Figures {
	f := &Figures{Events: &p.Events, Skipped: p.Skipped, Restated: p.Restated, Measures: map[string]Amount{}}
	for field, m := range p.Measures {
		f.Measures[field] = Amount{m.N, m.Sum, m.Min, m.Max}
	}
	return f
}

func figuresOfEntries(n int64) *Figures { return &Figures{Entries: &n} }

// Texts returns the two figures of a finding in few words: of measures, the first
// that differ.
func (f Finding) Texts() (summary, items string) {
	return f.Summary.text(f.Items), f.Items.text(f.Summary)
}

func (f *Figures) text(other *Figures) string {
	switch {
	case f == nil && other == nil:
		return ""
	case f == nil:
		return "nothing"
	case f.Rev != nil:
		return fmt.Sprintf("%s (rev %s)", f.Value, f.Rev)
	case f.Entries != nil:
		return fmt.Sprintf("%d entries", *f.Entries)
	case f.Events == nil:
		return ""
	}
	words := []string{fmt.Sprintf("%d events", *f.Events)}
	if *f.Events == 1 {
		words[0] = "1 event"
	}
	for _, field := range f.differing(other) {
		m, ok := f.Measures[field]
		if !ok {
			words = append(words, fmt.Sprintf("no %.40q", field))
			continue
		}
		words = append(words, fmt.Sprintf("%.40q: %d, sum %s, min %s, max %s", field, m.Count, m.Sum, m.Min, m.Max))
	}
	if other == nil || f.Skipped != other.Skipped {
		words = append(words, fmt.Sprintf("%d numbers skipped", f.Skipped))
	}
	return strings.Join(words, "; ")
}

// maxDiffering bounds the measures that a text shows.
const maxDiffering = 3

func (f *Figures) differing(other *Figures) (fields []string) {
	if other == nil {
		return nil
	}
	all := maps.Clone(f.Measures)
	maps.Copy(all, other.Measures)
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if m, n := f.Measures[field], other.Measures[field]; !m.same(n) && len(fields) < maxDiffering {
			fields = append(fields, field)
		}
	}
	return fields
}

func (m Amount) same(n Amount) bool {
	return m.Count == n.Count && cmp.Or(m.Sum.Cmp(n.Sum), m.Min.Cmp(n.Min), m.Max.Cmp(n.Max)) == 0
}
