// Package board is the arithmetic of leaderboards: the first players of a board's
// period, and the histogram that ranks all others. It does no input or output.
//
// A [Top] says what a stream record means for it, and which players' own entries
// have to be read before they may enter:
//
//	top, err := board.ParseTop(stored, whole)
//	if top.Offer(state) == board.Asks {
//		top.Take(read(state.Player))
//	}
//	top.Trim(board.Hold(size))
//	if top.Short(size) {
//		... // read the first of the index, and Widen
//	}
//	put(top.Bytes(), top.Whole())
//
// A [Histogram] counts scores in cells. A reader merges the fragments of all stream
// shards and asks for a rank:
//
//	rank, margin := histogram.Locate(place.Merit()).Rank()
package board
