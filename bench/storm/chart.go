package storm

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"
)

// drawn are the scenarios in the chart.
var drawn = []string{"counter10x-40", "counter10x-one", "counter10x-fixed", "event10x-40", "event10x-one", "board10x-40", "board10x-one"}

// draw makes a chart of the share of writes that were not accepted in each second of a storm. It writes no file if no
// scenario in drawn has a result.
func draw(file string, results map[string]measurement) error {
	graph := chart.Chart{
		Width: 1000, Height: 420,
		Background: chart.Style{Padding: chart.Box{Top: 20, Left: 220, Right: 20, Bottom: 20}},
		XAxis:      chart.XAxis{Name: "seconds", Ticks: ticks(lasting.Seconds(), 5)},
		YAxis:      chart.YAxis{Name: "not accepted", Range: &chart.ContinuousRange{Min: 0, Max: 10.5 * partitionWCU}, Ticks: ticks(10*partitionWCU, 50)},
	}
	for _, name := range drawn {
		m, ok := results[name]
		if !ok {
			continue
		}
		series := chart.ContinuousSeries{Name: name, Style: style(name)}
		for _, s := range m.runs()[len(m.Runs)/2].Seconds {
			if s.Storm {
				series.XValues = append(series.XValues, float64(len(series.XValues)))
				series.YValues = append(series.YValues, float64(s.Offered-s.Accepted))
			}
		}
		graph.Series = append(graph.Series, series)
	}
	if len(graph.Series) == 0 {
		return nil
	}
	graph.Elements = []chart.Renderable{chart.LegendLeft(&graph)}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(graph.Render(chart.SVG, out), out.Close())
}

// ticks returns the ticks of an axis that begins at 0.
func ticks(last, every float64) (list []chart.Tick) {
	for at := 0.0; at <= last; at += every {
		list = append(list, chart.Tick{Value: at, Label: fmt.Sprint(at)})
	}
	return list
}

// style returns a line's style: its colour shows the serving system and the remedy, its dash the kind of key.
func style(name string) chart.Style {
	what, how, _ := strings.Cut(name, "10x-")
	colours := map[string]drawing.Color{"40": chart.ColorGreen, "one": chart.ColorBlue, "fixed": chart.ColorRed}
	return chart.Style{StrokeWidth: 2, StrokeColor: colours[how], StrokeDashArray: map[string][]float64{"event": {6, 4}, "board": {2, 3}}[what]}
}
