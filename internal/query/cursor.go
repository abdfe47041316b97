package query

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// cursor is the encoded form of a position in a range of events.
type cursor struct {
	Version int    `json:"v"`
	Range   string `json:"r"` // identifies the range
	After   string `json:"a"` // the sort key, or the time, after which the next page begins
}

const cursorVersion = 1

// cursorText encodes a cursor for callers.
func cursorText(form any) string {
	text, _ := json.Marshal(form) // a cursor has only strings and numbers
	return base64.RawURLEncoding.EncodeToString(text)
}

// readCursor decodes the text of cursorText.
func readCursor(text string, form any) error {
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, form)
}

func encodeCursor(r events.Range, after string) string {
	return cursorText(cursor{cursorVersion, rangeDigest(r), after})
}

func decodeCursor(r events.Range, text string) (after string, err error) {
	var c cursor
	if err := readCursor(text, &c); err != nil || c.Version != cursorVersion || !isPosition(c.After) {
		return "", errors.New("it is not a cursor of this API")
	}
	if c.Range != rangeDigest(r) {
		return "", errors.New("it belongs to another entity or order")
	}
	return c.After, nil
}

// listCursor is the encoded form of a position in the list of shard counts.
type listCursor struct {
	Version int    `json:"v"`
	Key     string `json:"k"` // the last base key of the page before
}

func encodeListCursor(key string) string { return cursorText(listCursor{cursorVersion, key}) }

// decodeListCursor returns the base key after which the list continues, or "" for the start.
func decodeListCursor(text string) (after string, err error) {
	if text == "" {
		return "", nil
	}
	var c listCursor
	err = readCursor(text, &c)
	if err == nil {
		_, err = schema.ParseBaseKey(c.Key)
	}
	if err != nil || c.Version != cursorVersion {
		return "", errors.New("it is not a cursor of a list of shard counts")
	}
	return c.Key, nil
}

// isPosition reports whether a text is an event's sort key or a time.
func isPosition(text string) bool {
	if _, err := time.Parse(schema.TimeLayout, text); err == nil {
		return true
	}
	_, id, err := schema.ParseEventSortKey(text)
	return err == nil && httpapi.Name(id).Fault() == ""
}

// rangeDigest identifies a range by its entity and order.
func rangeDigest(r events.Range) string {
	order := "asc"
	if r.Desc {
		order = "desc"
	}
	sum := sha256.Sum256([]byte(order + "\x00" + r.Entity))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}
