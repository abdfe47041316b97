// Package explain says why requests were throttled, on which keys, and what cures it. Run collects the evidence from AWS,
// an engine, a stream and a log; Explain decides, without input or output. It writes nothing:
//
//	report, err := explain.Run(ctx, explain.Sources{DynamoDB: db, Limiter: explain.ProxyReader(ctx, endpoint)}, options)
//	fmt.Print(report.Text())
package explain

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
)

// shownKeys bounds the keys of a finding that are printed as text.
const shownKeys = 5

// Text returns the report as text: a summary, lines for each finding, and the notes. Keys may contain control characters.
func (r Report) Text() string {
	var text strings.Builder
	span := r.From.UTC().Format(time.TimeOnly) + " to " + r.To.UTC().Format(time.TimeOnly) + " UTC"
	switch {
	case r.Throttles > 0:
		fmt.Fprintf(&text, "%s, %s: %s.\n", r.Table, span, display.Several(int(r.Throttles), "throttle"))
	case r.Counted:
		fmt.Fprintf(&text, "%s was not throttled from %s.\n", r.Table, span)
	default:
		fmt.Fprintf(&text, "Whether %s was throttled from %s is unknown: nothing that was read counts throttles of that time.\n", r.Table, span)
	}
	for i, f := range r.Findings {
		fmt.Fprintf(&text, "\n%d. %s of the throttles: %s, %s\n", i+1, percentText(f.Share), f.Reason, f.Confidence)
		fmt.Fprintf(&text, "   on    %s\n", f.Resource)
		label := "keys"
		for _, k := range f.Keys[:min(len(f.Keys), shownKeys)] {
			fmt.Fprintf(&text, "   %-5s %s\n", label, keyLine(k))
			label = ""
		}
		if more := len(f.Keys) - shownKeys; more > 0 {
			fmt.Fprintf(&text, "         %d more with --json\n", more)
		}
		label = "seen"
		for _, s := range f.Evidence {
			fmt.Fprintf(&text, "   %-5s %s: %s\n", label, s.Name, s.Text)
			label = ""
		}
		fmt.Fprintf(&text, "   cure  %s\n", f.Cure)
	}
	if r.Throttles > 0 && r.Unknown > 0 {
		fmt.Fprintf(&text, "\n%s of the throttles have no known reason.\n", percentText(r.Unknown))
	}
	if len(r.Next)+len(r.Notes) > 0 {
		text.WriteString("\n")
	}
	indent := ""
	for _, l := range r.Next {
		fmt.Fprintf(&text, "%s%s\n", indent, l)
		indent = "   "
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&text, "Note: %s\n", n)
	}
	return text.String()
}

func keyLine(k KeyRate) string {
	parts := []string{k.Key}
	if k.Units > 0 {
		parts = append(parts, rate(k.Units, 4)+" WCU/s in its hottest window")
	}
	if k.Throttles > 0 {
		parts = append(parts, several(rate(k.Throttles, 2), "throttle")+" a second")
	}
	return strings.Join(parts, ", ")
}

// several returns a formatted number and its noun, which is singular for 1.
func several(number, noun string) string {
	if number != "1" {
		noun += "s"
	}
	return number + " " + noun
}

// rate returns a rate with this many significant digits, without an exponent.
func rate(x float64, digits int) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64) // a float's own text has no error
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

func percentText(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) }
