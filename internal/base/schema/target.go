package schema

import (
	"strconv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Target identifies the summary into which a record is folded: a board's period, an entity's hour, or a partial of a
// counter's summary.
type Target struct {
	Base    BaseKey
	Partial int       // only for [PartialSummary]: the partial's number
	Period  string    // only for [RankingSummary]: the period's label
	Hour    time.Time // only for [RollupSummary]: the hour's start
}

// targetForm makes and parses the label in a target's name, <base key>#<label>, for one kind of summary.
type targetForm struct {
	label func(Target) string
	parse func(label string) (t Target, ok bool)
}

var targetForms = map[Summary]targetForm{
	PartialSummary: {
		label: func(t Target) string { return strconv.Itoa(t.Partial) },
		parse: func(label string) (t Target, ok bool) {
			n, err := strconv.Atoi(label)
			return Target{Partial: n}, err == nil && n >= 0
		},
	},
	RollupSummary: {
		label: func(t Target) string { return shard.Hour.Label(t.Hour) },
		parse: func(label string) (t Target, ok bool) {
			hour, err := shard.Hour.Start(label)
			return Target{Hour: hour}, err == nil
		},
	},
	RankingSummary: {
		label: func(t Target) string { return t.Period },
		parse: func(label string) (t Target, ok bool) { return Target{Period: label}, isPeriod(label) },
	},
}

// EventTarget returns the name of the rollup of an entity's hour that holds t.
func EventTarget(entity string, t time.Time) string {
	return Target{Base: BaseKey{Event, entity}, Hour: t}.String()
}

// String returns the target's name, under which a failure is stored.
func (t Target) String() string {
	return t.Base.String() + "#" + targetForms[TraitsOf(t.Base.Type).Summary].label(t)
}

// ParseTarget is the inverse of [Target.String]. It splits at the last separator, since names may contain separators.
func ParseTarget(target string) (Target, error) {
	base, err := ParseBaseKey(target)
	form, summarized := targetForms[TraitsOf(base.Type).Summary]
	end := strings.LastIndexByte(base.Name, '#')
	if err != nil || !summarized || end < 0 {
		return Target{}, &shard.KeyError{Key: target, Reason: "it is not the name of a summary"}
	}
	t, ok := form.parse(base.Name[end+1:])
	if !ok {
		return Target{}, &shard.KeyError{Key: target, Reason: "it does not end with a partial, a bucket or a period of its kind"}
	}
	t.Base = BaseKey{base.Type, base.Name[:end]}
	return t, nil
}
