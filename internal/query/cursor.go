package query

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// cursor is the stored form of a place in a range of events.
type cursor struct {
	Version int    `json:"v"`
	Range   string `json:"r"` // tells one range's cursors from another's
	After   string `json:"a"`
}

const cursorVersion = 1

func encodeCursor(r ddb.Range, after string) string {
	text, err := json.Marshal(cursor{cursorVersion, rangeDigest(r), after})
	if err != nil {
		panic(err) // it is made of strings
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func decodeCursor(r ddb.Range, text string) (after string, err error) {
	var c cursor
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(plain, &c)
	}
	const n = len(schema.TimeLayout)
	if err != nil || c.Version != cursorVersion || len(c.After) < n {
		return "", errors.New("it is not a cursor of this API")
	}
	if _, err := time.Parse(schema.TimeLayout, c.After[:n]); err != nil {
		return "", errors.New("it is not a cursor of this API")
	}
	if c.Range != rangeDigest(r) {
		return "", errors.New("it belongs to another entity or order")
	}
	return c.After, nil
}

func rangeDigest(r ddb.Range) string {
	order := "asc"
	if r.Desc {
		order = "desc"
	}
	sum := sha256.Sum256([]byte(order + "\x00" + r.Entity))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}
