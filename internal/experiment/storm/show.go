package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/wcharczuk/go-chart/v2"
)

// print writes a table in Markdown: figures in all, then every few seconds.
func (r result) print(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n", r.Name)
	fmt.Fprintf(w, "offered %d, refused %d (%.1f %%), accepted %d, found %d, wrong reads %d, throttled attempts %d, write units %.0f; first throttle at %.1f s, under 1 %% refused from %.0f s on\n\n",
		r.Offered, r.Refused, 100*float64(r.Refused)/float64(r.Offered), r.Accepted, r.Found, r.Misread, r.Throttled, r.WriteUnits, r.FirstAt, r.CalmAt)
	for status, n := range r.Others {
		fmt.Fprintf(w, "%d of the refusals were %s\n\n", n, status)
	}
	t := table.NewWriter()
	t.AppendHeader(table.Row{"second", "offered", "refused", "N", "throttled attempts"})
	for _, s := range r.Seconds {
		if s.Second < 6 || s.Second%5 == 0 {
			t.AppendRow(table.Row{s.Second, s.Offered, s.Refused, s.Shards, s.Throttled})
		}
	}
	fmt.Fprintln(w, t.RenderMarkdown())
}

// draw makes a chart of the requests refused in each second of the storms.
func draw(file string, results []result) error {
	graph := chart.Chart{
		Width: 1000, Height: 420,
		Background: chart.Style{Padding: chart.Box{Top: 20, Left: 220, Right: 20, Bottom: 20}},
		XAxis:      chart.XAxis{Name: "seconds", Ticks: ticks(lasting.Seconds(), 5)},
		YAxis:      chart.YAxis{Name: "refused", Range: &chart.ContinuousRange{Min: 0, Max: tenfold}, Ticks: ticks(tenfold, 50)},
	}
	for _, r := range results {
		if len(r.Seconds) != int(lasting.Seconds()) {
			continue // ramps, in which nothing is refused, and a limit that no N cures
		}
		series := chart.ContinuousSeries{Name: r.Name, Style: style(r.Name)}
		for _, s := range r.Seconds {
			series.XValues = append(series.XValues, float64(s.Second))
			series.YValues = append(series.YValues, float64(s.Refused))
		}
		graph.Series = append(graph.Series, series)
	}
	graph.Elements = []chart.Renderable{chart.LegendLeft(&graph)}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := graph.Render(chart.SVG, out); err != nil {
		return err
	}
	return out.Close()
}

// ticks are those of an axis from 0 on.
func ticks(last, every float64) (list []chart.Tick) {
	for at := 0.0; at <= last; at += every {
		list = append(list, chart.Tick{Value: at, Label: fmt.Sprint(at)})
	}
	return list
}

// style has a colour for what is done about a storm, and a dash for what is stormed.
func style(name string) chart.Style {
	what, cure, _ := strings.Cut(name, ", ")
	colour := chart.ColorRed
	switch cure {
	case "hotshard":
		colour = chart.ColorGreen
	case "N grows by one":
		colour = chart.ColorOrange
	}
	return chart.Style{StrokeWidth: 2, StrokeColor: colour, StrokeDashArray: map[string][]float64{"events": {6, 4}, "board": {2, 3}}[what]}
}
