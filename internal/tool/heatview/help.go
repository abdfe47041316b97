package heatview

// helpLines explain the view's keys and columns.
var helpLines = []string{
	"Keys",
	"  ↑ ↓ PgUp PgDn  choose a key       Enter  its last minutes, its write shards",
	"  /              filter by any part of a name; Esc shows all keys",
	"  s              sort by the next column       r  reverse the order",
	"  c              copy the advice    y      copy the key (by OSC 52)",
	"  p              pause, resume      ?      this help",
	"  q              quit (exit code 0; Ctrl-C is 130)",
	"",
	"Columns",
	"  WCU/S   measured write units per second of the newest complete window, 10 s:",
	"          a lower bound; for a key with write shards, those of the hottest one",
	"  ±       upper bound of the error",
	"  LIMIT   share of the partition limit",
	"  PEAK    write units in the heaviest second of the time shown",
	"  N       write shards",
	"  STATUS  hot: 70% of the partition limit or more; saturated: 95% or more;",
	"          cooled: was hot before and is not now",
	"  TREND   a bar for each window; a full bar is the partition limit",
}
