package decoding

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// shape has a payload's differences from Lambda's usual one.
type shape struct {
	name     string
	records  int
	keysOnly bool
}

func cases() []shape {
	return []shape{
		{name: "keys only", records: 5000, keysOnly: true},
		{name: "both images", records: 3477}, // near 6 MB
	}
}

// member is a member of an object; its value is one of JSON's own, or an object.
type member struct {
	name  string
	value any
}

type object []member

// payload returns a payload, and the number of each key's records.
func (s shape) payload() ([]byte, map[string]int) {
	rng := rand.New(rand.NewPCG(7, 7))
	zipf := rand.NewZipf(rng, 1.1, 1, 999)
	keys := map[string]int{}
	w := writer{}
	w.WriteString(`{"Records":[`)
	for i := range s.records {
		if i > 0 {
			w.WriteByte(',')
		}
		key := fmt.Sprintf("E#plant-7/sensor-%d#2026-01-05#%d", zipf.Uint64(), rng.IntN(4))
		keys[key]++
		w.value(s.record(rng, i, key))
	}
	w.WriteString(`]}`)
	return w.Bytes(), keys
}

func (s shape) record(rng *rand.Rand, i int, key string) object {
	ids := object{{"pk", object{{"S", key}}}, {"sk", object{{"S", fmt.Sprintf("2026-01-05T13:%02d:%02d.%03dZ#%012d", i/60%60, i%60, i%1000, i)}}}}
	view := "NEW_AND_OLD_IMAGES"
	change := object{{"ApproximateCreationDateTime", json.Number(fmt.Sprintf("1.76758920%dE9", i/1000))}, {"Keys", ids}}
	if s.keysOnly {
		view = "KEYS_ONLY"
	} else {
		change = append(change, member{"NewImage", item(rng, ids, i+1)}, member{"OldImage", item(rng, ids, i)})
	}
	change = append(change, member{"SequenceNumber", fmt.Sprintf("4421584500000000%09d", i)},
		member{"SizeBytes", json.Number("1018")}, member{"StreamViewType", view})
	return object{
		{"eventID", fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64())}, {"eventName", "MODIFY"}, {"eventVersion", "1.1"},
		{"eventSource", "aws:dynamodb"}, {"awsRegion", "eu-west-1"}, {"dynamodb", change},
		{"eventSourceARN", "arn:aws:dynamodb:eu-west-1:123456789012:table/hotshard-items/stream/2026-01-05T00:00:00.000"},
	}
}

// item returns an item of about 500 bytes, in one of its two images.
func item(rng *rand.Rand, ids object, n int) object {
	number := func(top int) object { return object{{"N", fmt.Sprint(rng.IntN(top))}} }
	text := func(t string) object { return object{{"S", t}} }
	note := strings.Repeat("the pump runs warm, but within its bounds; ", 6)
	return slices.Concat(ids, object{
		{"data", object{{"M", object{
			{"temperature", object{{"N", fmt.Sprintf("%d.%d", rng.IntN(40), rng.IntN(10))}}}, {"humidity", number(100)},
			{"status", text("ok")}, {"tags", object{{"L", []object{text("north"), text("roof")}}}}, {"valid", object{{"BOOL", true}}},
		}}}},
		{"note", text(note)}, {"by", text("gateway-17")}, {"rev", object{{"N", fmt.Sprint(1767589200000000 + n)}}},
		{"value", number(100_000)}, {"expires_at", object{{"N", "1770181200"}}},
	})
}

// writer writes objects.
type writer struct{ bytes.Buffer }

func (w *writer) value(v any) {
	switch v := v.(type) {
	case object:
		w.object(v)
	case []object:
		for i, e := range v {
			w.WriteString("[,"[min(i, 1):][:1])
			w.object(e)
		}
		w.WriteByte(']')
	default:
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // the payload is invalid
		}
		w.Write(text)
	}
}

func (w *writer) object(o object) {
	for i, m := range o {
		w.WriteString("{,"[min(i, 1):][:1])
		w.value(m.name)
		w.WriteByte(':')
		w.value(m.value)
	}
	w.WriteByte('}')
}
