package explain

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/internal/base/display"
)

// maxKeys bounds the keys of a finding.
const maxKeys = 10

// keysOf returns the keys that were throttled for a reason, the worst first, and the sources that name them. For a
// partition's write limit it also returns hot keys. It returns a throttled key whose source names no cause only if its
// table or index was throttled for this reason alone or, for a partition's write limit, if its writes are hot. Of other
// such keys it returns only the source.
func (e *Evidence) keysOf(reason Reason) (keys []Key, sources []Source) {
	isOnlyReason, bySource, unsure := e.isOnlyReason(reason), map[string][]Key{}, map[string][]Key{}
	isWriteLimit := reason.Operation == Write && reason.Cause == KeyRange
	for _, k := range e.Keys {
		if !k.mayHave(reason) {
			continue
		}
		isSure := k.Cause != "" || isOnlyReason || (isWriteLimit && e.isHot(k))
		switch {
		case k.Throttles > 0 && !isSure:
			unsure[k.Source] = append(unsure[k.Source], k)
		case k.Throttles > 0, k.Hot && isWriteLimit:
			bySource[k.Source] = append(bySource[k.Source], k)
			keys = mergeKey(keys, k)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bySource)) {
		sources = append(sources, Source{name, e.describeKeys(bySource[name])})
	}
	for _, name := range slices.Sorted(maps.Keys(unsure)) {
		sources = append(sources, Source{name, e.describeKeys(unsure[name]) + ", for this reason or another"})
	}
	slices.SortStableFunc(keys, compareHarm)
	return keys, sources
}

// mayHave reports whether a key's throttles may have this reason: its source names no other table, index, operation or cause.
func (k Key) mayHave(reason Reason) bool {
	otherOperation := k.Operation != "" && k.Operation != reason.Operation
	otherCause := k.Cause != "" && k.Cause != reason.Cause
	return k.ID == reason.ID && !otherOperation && !otherCause
}

// compareHarm orders keys by their throttles, then by their writes, the worst first.
func compareHarm(a, b Key) int {
	return cmp.Or(cmp.Compare(b.Throttles, a.Throttles), cmp.Compare(b.UnitsPerSecond, a.UnitsPerSecond), strings.Compare(a.Key, b.Key))
}

// isOnlyReason reports whether the reason's table or index was throttled for no other reason.
func (e *Evidence) isOnlyReason(reason Reason) bool {
	return !slices.ContainsFunc(e.Counts, func(c Count) bool {
		return c.ID == reason.ID && c.Events > 0 && c.Cause != "" && c.Reason != reason
	})
}

// isHot reports whether any source says that a key's writes are hot.
func (e *Evidence) isHot(k Key) bool {
	return slices.ContainsFunc(e.Keys, func(other Key) bool { return other.Hot && other.ID == k.ID && other.Key == k.Key })
}

// mergeKey adds a source's key to keys. Each partition key is in keys once, with the largest figures of all sources.
func mergeKey(keys []Key, added Key) []Key {
	at := slices.IndexFunc(keys, func(other Key) bool { return other.Key == added.Key })
	if at < 0 {
		return append(keys, added)
	}
	old := &keys[at]
	old.Throttles, old.UnitsPerSecond = max(old.Throttles, added.Throttles), max(old.UnitsPerSecond, added.UnitsPerSecond)
	old.UnitsPerWrite, old.Hot = max(old.UnitsPerWrite, added.UnitsPerWrite), old.Hot || added.Hot
	old.Advice = cmp.Or(old.Advice, added.Advice)
	if !strings.Contains(old.Source, added.Source) {
		old.Source += ", " + added.Source
	}
	return keys
}

// describeKeys returns a source's worst key and the number of its others, as a clause.
func (e *Evidence) describeKeys(keys []Key) string {
	k := slices.MinFunc(keys, compareHarm)
	text := fmt.Sprintf("%s took %s WCU/s in its hottest window, and a partition takes %s", k.Key, number(k.UnitsPerSecond), number(e.partition(Write)))
	if k.Throttles > 0 {
		text = fmt.Sprintf("%s was throttled %s", k.Key, several(number(k.Throttles), "time"))
	}
	if len(keys) > 1 {
		text += fmt.Sprintf("; %s less", display.Several(len(keys)-1, "other key"))
	}
	return text
}

// rates returns the first maxKeys keys as a finding lists them.
func (e *Evidence) rates(keys []Key) []KeyRate {
	rates := []KeyRate{}
	for _, k := range keys[:min(len(keys), maxKeys)] {
		rates = append(rates, KeyRate{
			Key: k.Key, Units: hundredths(k.UnitsPerSecond),
			Throttles: hundredths(k.Throttles / max(1, e.To.Sub(e.From).Seconds())), Source: k.Source,
		})
	}
	return rates
}

// hundredths rounds up to two decimals. It returns 0 for a negative number.
func hundredths(x float64) float64 { return max(0, math.Ceil(100*x-1e-9)/100) }
