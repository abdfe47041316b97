package parts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type storedItem = map[string]types.AttributeValue

// TestStoredTops checks the packed form of tops, and which damage is named.
func TestStoredTops(t *testing.T) {
	for _, c := range []struct {
		packed string
		whole  bool
		want   string // of the entries and the floor; or the error
	}{
		{"\x01\x00\x00", true, "[]"},
		{"\x01\x00\x00", false, "[]"},
		{"\x01\x01\x01a\x019\x01\x0e\x00", true, "[a 9 rev 7]"},
		{"\x01\x01\x01a\x019\x01\x0f\x00", true, "[a 9 rev 7 unsure]"},
		{"\x01\x02\x01a\x02<9\x01\x0e\x01b\x03<10\x01\x0e\x01\x01b\x03<10\x01", false, "[a 9 rev 7 b 10 rev 7] down to b 10"},
		{"\x01\x02\x01a\x03<10\x01\x0e\x01b\x02<9\x01\x0e\x00", true, "entry 1 does not rank after the one before it"},
		{"\x01\x01\x01a\x02<-\x01\x0e\x00", true, "a place in it can't be read"},
		{"\x01\x01\x01a\x019\x01\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\x00", true, "[a 9 rev 4611686018427387903]"},
		{"\x01\x02\x01a\x019\x01\x0e\x01b\x019\x01\x0e\x01\x01b\x019\x01", false, "[a 9 rev 7 b 9 rev 7] down to b 9"},
		{"\x01\x00\x01\x01b\x019\x01", false, "[] down to b 9"},
		{"\x02\x00\x00", true, "a top has version 2, and this release reads only 1: run the release that wrote it, or a newer one"},
		{"", true, "EOF"},
		{"\x01", true, "EOF"},
		{"\x01\x00", true, "EOF"},
		{"\x01\x00\x00\x00", true, "there are bytes after its end"},
		{"\x01\x00\x01\x01b\x019\x01", true, "it is whole, and has a floor"},
		{"\x01\x01\x01a\x019\x01\x0e\x00", false, "entry 0 ranks after the floor"},
		{"\x01\x01\x01c\x019\x01\x0e\x01\x01b\x019\x01", false, "entry 0 ranks after the floor"},
		{"\x01\x02\x01b\x019\x01\x0e\x01a\x019\x01\x0e\x00", true, "entry 1 does not rank after the one before it"},
		{"\x01\x02\x01a\x019\x01\x0e\x01a\x019\x01\x0e\x00", true, "entry 1 does not rank after the one before it"},
		{"\x01\x02\x01a\x019\x01\x0e\x01a\x018\x01\x0e\x00", true, "entry 1 repeats a player"},
		{"\x01\x01\x00\x019\x01\x0e\x00", true, "a place in it can't be read"},
		{"\x01\x01\x01a\x01x\x01\x0e\x00", true, "a place in it can't be read"},
		{"\x01\x01\x01a\x019\xff\xff\x99\xa6\xea\xaf\xe3\x01\x0e\x00", true, "[a 9 rev 7]"},
		{"\x01\x01\x01a\x019\x80\x80\x9a\xa6\xea\xaf\xe3\x01\x0e\x00", true, "a place in it can't be read"},
		{"\x01\x03\x00\x00", true, "its number of elements exceeds the bound or the data"},
		{"\x01\x81\x20" + strings.Repeat("\x00", 5000), true, "its number of elements exceeds the bound or the data"},
	} {
		top, err := ParseTop([]byte(c.packed), c.whole)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) && !(c.want == "EOF" && strings.HasPrefix(err.Error(), "a top: ")) {
				t.Errorf("%q: %v, want %q", c.packed, err, c.want)
			}
			continue
		}
		if got := show(top); got != c.want || string(top.Bytes()) != c.packed || top.Whole() != c.whole {
			t.Errorf("%q, whole %t: %s, whole %t, as %q; want %s", c.packed, c.whole, got, top.Whole(), top.Bytes(), c.want)
		}
	}
}

func show(top *Top) string {
	var list []string
	for _, e := range top.Entries() {
		text := fmt.Sprint(e.Player, " ", e.Score, " rev ", e.Rev)
		if e.Unsure {
			text += " unsure"
		}
		list = append(list, text)
	}
	text := "[" + strings.Join(list, " ") + "]"
	if top.floor != nil {
		text += fmt.Sprint(" down to ", top.floor.Player, " ", top.floor.Score)
	}
	return text
}

// TestStoredHistograms checks the packed form of histograms, and which damage is named.
func TestStoredHistograms(t *testing.T) {
	for packed, want := range map[string]string{
		"\x01\x00\x3f\x00\x00":                 "level 0, late 0, map[]",
		"\x01\x00\x01\x03\x01\x02\x0a":         "level 0, late -2, map[4:5]",
		"\x01\x02\x00\x00\x02\x03\x0a\x01":     "EOF",
		"\x01\x02\x00\x00\x02\x03\x0a\x01\x09": "level 2, late 0, map[3:5 4:-5]",
		"\x01\x40\x00\x00\x01\x00\x0a":         "level 64, late 0, map[0:5]",
		"\x01\x41\x00\x00\x01\x00\x0a":         "its level or its zeros are out of range",
		"\x01\x00\x40\x00\x00":                 "its level or its zeros are out of range",
		"\x01\x00\x00\x00\x02\x03\x0a\x00\x09": "its cells are not in order",
		"\x01\x3f\x00\x00\x01\x02\x0a":         "its cells are not in order",
		"\x01\x3f\x00\x00\x01\x01\x0a":         "level 63, late 0, map[1:5]",
		"\x01\x3e\x01\x00\x01\x02\x0a":         "its cells are not in order",
		"\x01\x3e\x01\x00\x01\x01\x0a":         "level 62, late 0, map[2:5]",
		"\x01\x3f\x00\x00\x02\x01\x0a\x01\x0a": "its cells are not in order",
		"\x01\x00\x01\x03\x01\x02\x0a\x00":     "there are bytes after its end",
		"\x02\x00\x01\x03\x01\x02\x0a":         "a histogram has version 2, and this release reads only 1",
		"":                                     "EOF",
		"\x01\x00\x00\x00\x81\x80\x02" + strings.Repeat("\x01\x02", maxParsedCells+1): "its number of elements exceeds the bound or the data",
	} {
		h, err := parseHistogram([]byte(packed))
		if err != nil {
			if !strings.Contains(err.Error(), want) && !(want == "EOF" && strings.HasPrefix(err.Error(), "a histogram: ")) {
				t.Errorf("%.40q: %v, want %q", packed, err, want)
			}
			continue
		}
		if got := fmt.Sprintf("level %d, late %d, %v", h.level, h.late, h.cells); got != strings.Replace(want, "map[]", fmt.Sprint(h.cells), 1) {
			t.Errorf("%.40q: %s, want %s", packed, got, want)
		}
		if again := string(h.Bytes()); again != packed && strings.HasPrefix(packed, "\x01\x00\x02") {
			t.Errorf("%q was stored as %q", packed, again)
		}
	}
}

// TestItemsOfTops checks which items are tops and histograms.
func TestItemsOfTops(t *testing.T) {
	one, other := &types.AttributeValueMemberN{Value: "1"}, &types.AttributeValueMemberN{Value: "2"}
	whole, places := &types.AttributeValueMemberBOOL{Value: true}, &types.AttributeValueMemberB{Value: NewTop().Bytes()}
	var h Histogram
	h.Add(7, 3)
	for _, c := range []struct {
		stored         storedItem
		top, histogram bool
	}{
		{storedItem{"v": one, "whole": whole, "places": places}, true, false},
		{storedItem{"v": other, "whole": whole, "places": places}, false, false},
		{storedItem{"whole": whole, "places": places}, false, false},
		{storedItem{"v": one, "places": places}, false, false},
		{storedItem{"v": one, "whole": whole}, false, false},
		{h.Attributes(), false, true},
		{storedItem{"v": other, "cells": h.Attributes()["cells"]}, false, false},
		{storedItem{"v": one, "cells": one}, false, false},
	} {
		top, err := StoredTop(c.stored)
		stored, hErr := StoredHistogram(c.stored)
		if (err == nil) != c.top || (top != nil) != c.top || (hErr == nil) != c.histogram || hErr == nil && !stored.Same(h) {
			t.Errorf("%v: %v, %v; %v, %v", c.stored, top, err, stored, hErr)
		}
	}
}
