package query

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
)

// cursor is the encoded form of a position in a list.
type cursor struct {
	Version int    `json:"v"`
	List    string `json:"r"` // the digest of the list's parameters
	After   string `json:"a"` // the position after which the next page begins
}

const cursorVersion = 1

// text returns the cursor as callers see it.
func (c cursor) text() string {
	form, _ := json.Marshal(c) // a cursor has only strings and numbers
	return base64.RawURLEncoding.EncodeToString(form)
}

// encodeCursor returns a cursor for a position in the list with these parameters.
func encodeCursor(parameters, after string) string {
	return cursor{cursorVersion, digest(parameters), after}.text()
}

// decodeCursor returns the position of a cursor in the list with these parameters, or "" if text is "". isPosition reports
// whether a text is a valid position. The error is a 422 for a cursor that is malformed, or of another list.
func decodeCursor(parameters, text string, isPosition func(string) bool) (after string, err error) {
	if text == "" {
		return "", nil
	}
	var decoded cursor
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(plain, &decoded)
	}
	if err != nil || decoded.Version != cursorVersion || !isPosition(decoded.After) {
		return "", httpapi.InvalidAt("query.cursor", "it is not a cursor of this API: omit it to get the first page", text)
	}
	if decoded.List != digest(parameters) {
		return "", httpapi.InvalidAt("query.cursor", "it belongs to a list with other parameters: omit it to get the first page", text)
	}
	return decoded.After, nil
}

func digest(parameters string) string {
	sum := sha256.Sum256([]byte(parameters))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// isEventPosition reports whether a text is an event's sort key, or a bound of such keys, where a page without a last event
// ends.
func isEventPosition(text string) bool {
	at, id, _ := strings.Cut(text, "#")
	_, _, err := shard.Millis.ParseBound(at)
	return err == nil && len(at) <= len(schema.TimeLayout) && httpapi.Name(id).Fault() == ""
}
