package rebuild

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// Figures are the numbers of a summary or of its items: the rev and value of a counter's write
// shard, the events of a bucket, or the entries of a board.
type Figures struct {
	Rev      *big.Int                 `json:"rev,omitempty"`
	Value    *big.Int                 `json:"value,omitempty"`
	Events   *int64                   `json:"events,omitempty"`
	Entries  *int64                   `json:"entries,omitempty"`
	Measures map[string]parts.Measure `json:"measures,omitempty"` // by field
	Skipped  int64                    `json:"skipped,omitempty"`
}

// figuresOf returns nil for a nil state.
func figuresOf(s *state) *Figures {
	if s == nil {
		return nil
	}
	return &Figures{Rev: s.rev, Value: s.value}
}

func figuresOfEvents(p parts.Rollup) *Figures {
	return &Figures{Events: &p.Events, Skipped: p.Skipped, Measures: p.Measures}
}

func figuresOfEntries(n int64) *Figures { return &Figures{Entries: &n} }

// Texts returns short texts of a finding's figures, with at most three of the measures that differ.
func (f Finding) Texts() (summary, items string) {
	return f.Summary.text(f.Items), f.Items.text(f.Summary)
}

// text returns the figures as text, with the measures that differ from other's; "" if both are nil.
func (f *Figures) text(other *Figures) string {
	switch {
	case f == nil && other == nil:
		return ""
	case f == nil:
		return "nothing"
	case f.Rev != nil:
		return fmt.Sprintf("%s (rev %s)", f.Value, f.Rev)
	case f.Entries != nil:
		return display.Several(int(*f.Entries), "entry")
	case f.Events == nil:
		return ""
	}
	words := []string{display.Several(int(*f.Events), "event")}
	for _, field := range f.differingFields(other) {
		m, ok := f.Measures[field]
		if !ok {
			words = append(words, fmt.Sprintf("no %.40q", field))
			continue
		}
		words = append(words, fmt.Sprintf("%.40q: %d, sum %s, min %s, max %s", field, m.N, m.Sum, m.Min, m.Max))
	}
	if other == nil || f.Skipped != other.Skipped {
		words = append(words, display.Several(int(f.Skipped), "number")+" skipped")
	}
	return strings.Join(words, "; ")
}

// maxDiffering bounds the measures that a text shows.
const maxDiffering = 3

// differingFields returns the first maxDiffering fields, by name, whose measures differ; nil if other is nil.
func (f *Figures) differingFields(other *Figures) (fields []string) {
	if other == nil {
		return nil
	}
	all := map[string]parts.Measure{}
	maps.Copy(all, f.Measures)
	maps.Copy(all, other.Measures)
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if !f.Measures[field].Same(other.Measures[field]) && len(fields) < maxDiffering {
			fields = append(fields, field)
		}
	}
	return fields
}
