package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/jsontime"
)

// summary returns the sentences to read first; scanned says how much was read.
func (s Settings) summary(storms []Storm, scanned string) []string {
	if len(storms) == 0 {
		return []string{
			"No hot-key event found. " + scanned,
			fmt.Sprintf("An event is a key, a prefix or a stream shard that takes more than %.0f of a partition's %.0f WCU/s.", s.HotRate, s.Limit),
		}
	}
	kinds := map[Kind]int{}
	for _, storm := range storms {
		kinds[storm.Kind]++
	}
	var parts []string
	for _, k := range []Kind{OneKey, Rising, APrefix, Everything} {
		if kinds[k] > 0 && len(kinds) > 1 {
			parts = append(parts, fmt.Sprintf("%d of %s", kinds[k], k))
		}
	}
	of := ""
	if len(parts) > 0 {
		of = " (" + strings.Join(parts, ", ") + ")"
	}
	top := storms[0]
	return []string{
		fmt.Sprintf("%s found%s. %s", counted(len(storms), "hot-key event"), of, scanned),
		fmt.Sprintf("The heaviest, on %s from %s UTC, took %.0f WCU/s: %s.", top.named(), top.From.Format(time.DateTime), top.Rate, s.share(top.Rate)),
	}
}

// named returns the storm's key for a sentence, with the index that it is a key of.
func (s *Storm) named() string {
	if s.Index == "" {
		return quoted(s.Key)
	}
	return fmt.Sprintf("%s of the index %s", quoted(s.Key), s.Index)
}

// counted returns a number with a noun.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return heat.Grouped(float64(n)) + " " + noun
}

// retention is how long a stream keeps its records.
const retention = 24 * time.Hour

// scanned returns a sentence with the share that was read of the stream or of its last hours.
func (s Settings) scanned(r Read) string {
	of := "stream"
	if 0 < s.Wanted && s.Wanted < retention && !s.Oldest {
		of = "last " + jsontime.Duration(s.Wanted).String() + " of the stream"
	}
	return fmt.Sprintf("Scanned %s of the %s (%s, %s).", sharePercent(r.Share), of, counted(r.Records, "record"), counted(r.StreamShards, "shard"))
}

// sharePercent returns a share in percent; 100% only if all was read.
func sharePercent(share float64) string {
	switch {
	case share >= allRead:
		return "100%"
	case share >= 0.1:
		return fmt.Sprintf("%.0f%%", math.Floor(100*share))
	}
	return fmt.Sprintf("%.1f%%", math.Floor(1000*share)/10)
}

// allRead is the share that counts as all.
const allRead = 1 - 1e-9

// todo returns the advice of the storms, each once, the heaviest storm's first.
func todo(storms []Storm) []string {
	list, seen := []string{}, map[string]bool{}
	for _, storm := range storms {
		id := string(storm.Kind) + storm.Index + "/" + storm.Key
		if storm.Kind == Everything {
			id = string(storm.Kind)
		}
		if !seen[id] && len(list) < 20 {
			seen[id] = true
			list = append(list, storm.named()+": "+storm.Advice)
		}
	}
	return list
}
