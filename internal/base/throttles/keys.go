package throttles

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// maxKeys bounds the keys of a finding.
const maxKeys = 10

// keysOf returns the keys that a reason throttled, the worst first, and the sources that name them. For a partition's
// limit on writes it adds the hot keys. Keys whose source tells no reason count only if one reason throttled the
// resource, or if their writes are hot too.
func (e *Evidence) keysOf(reason Reason) (keys []Key, sources []Source) {
	alone, found := e.alone(reason), map[string][]Key{}
	var unsure []string
	for _, k := range e.Keys {
		switch {
		case k.ID != reason.ID || k.Operation != "" && k.Operation != reason.Operation || k.Cause != "" && k.Cause != reason.Cause:
		case k.Throttles > 0 && k.Cause == "" && !alone && !(reason.Operation == Write && reason.Cause == KeyRange && e.hot(k)):
			unsure = append(unsure, k.Key)
		case k.Throttles > 0, k.Hot && reason.Operation == Write && reason.Cause == KeyRange:
			found[k.Source] = append(found[k.Source], k)
			keys = merge(keys, k)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		sources = append(sources, Source{name, e.describe(found[name])})
	}
	if len(unsure) > 0 {
		text := fmt.Sprintf("It was throttled for several reasons, and the source does not tell which of them throttled %s", strings.Join(unsure[:min(len(unsure), maxKeys)], ", "))
		sources = append(sources, Source{contributors, text})
	}
	slices.SortStableFunc(keys, worst)
	return keys, sources
}

// worst orders keys by their throttles, then by their writes.
func worst(a, b Key) int {
	return cmp.Or(cmp.Compare(b.Throttles, a.Throttles), cmp.Compare(b.UnitsPerSecond, a.UnitsPerSecond), strings.Compare(a.Key, b.Key))
}

// contributors is the name of the source whose keys have no reasons.
const contributors = "Contributor Insights"

// alone reports whether a resource was throttled for one reason only.
func (e *Evidence) alone(reason Reason) bool {
	return !slices.ContainsFunc(e.Counts, func(c Count) bool {
		return c.ID == reason.ID && c.Events > 0 && c.Cause != "" && c.Reason != reason
	})
}

// hot reports whether any source says that the writes of a key are hot.
func (e *Evidence) hot(k Key) bool {
	return slices.ContainsFunc(e.Keys, func(other Key) bool { return other.Hot && other.ID == k.ID && other.Key == k.Key })
}

// merge adds what a source says about a key to what others said.
func merge(keys []Key, k Key) []Key {
	at := slices.IndexFunc(keys, func(other Key) bool { return other.Key == k.Key })
	if at < 0 {
		return append(keys, k)
	}
	old := &keys[at]
	old.Throttles, old.UnitsPerSecond = max(old.Throttles, k.Throttles), max(old.UnitsPerSecond, k.UnitsPerSecond)
	old.UnitsPerWrite, old.Hot, old.Rising = max(old.UnitsPerWrite, k.UnitsPerWrite), old.Hot || k.Hot, old.Rising || k.Rising
	old.SortKey, old.Advice = cmp.Or(old.SortKey, k.SortKey), cmp.Or(old.Advice, k.Advice)
	if !strings.Contains(old.Source, k.Source) {
		old.Source += ", " + k.Source
	}
	return keys
}

// describe returns what a source says about keys.
func (e *Evidence) describe(keys []Key) string {
	k := slices.MinFunc(keys, worst)
	text := fmt.Sprintf("%s took %s WCU/s in its hottest window, and a partition takes %s", k.Key, number(k.UnitsPerSecond), number(e.partition(Write)))
	if k.Throttles > 0 {
		text = fmt.Sprintf("%s was throttled %s times", k.Key, number(k.Throttles))
	}
	if len(keys) > 1 {
		text += fmt.Sprintf("; %d other keys less", len(keys)-1)
	}
	return text
}

// rates returns the keys of a finding.
func (e *Evidence) rates(keys []Key) []KeyRate {
	rates := []KeyRate{}
	for _, k := range keys[:min(len(keys), maxKeys)] {
		rates = append(rates, KeyRate{
			Key: k.Key, SortKey: k.SortKey, Units: hundredths(k.UnitsPerSecond),
			Throttles: hundredths(k.Throttles / max(1, e.To.Sub(e.From).Seconds())), Source: k.Source,
		})
	}
	return rates
}

// hundredths rounds up to two decimals.
func hundredths(x float64) float64 { return max(0, math.Ceil(100*x-1e-9)/100) }
