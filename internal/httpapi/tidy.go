package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of what an answer repeats of a caller's text, in bytes.
const (
	maxEcho   = 100
	maxPlace  = 200
	maxDetail = 1000
)

// Bounds of a refusal, whatever is wrong with the request: after so many faults, or so
// many bytes of them, one more says how many there are besides.
const (
	maxFaults     = 100
	maxFaultsSize = 60 << 10 // with the rest of the answer it stays below 64 KB
)

func cut(text string) string { return cutTo(text, maxEcho) }

func cutTo(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// newProblem makes every error answer, also the framework's: see setFramework.
func newProblem(status int, detail string, errs ...error) huma.StatusError {
	return &huma.ErrorModel{Status: status, Title: http.StatusText(status), Detail: cutTo(detail, maxDetail), Errors: firstFaults(errs)}
}

// newProblemFor is newProblem for a request that the framework refuses. That a body was cut
// off is no fault of the server's; and nobody reads faults once the client has left.
func newProblemFor(ctx huma.Context, status int, detail string, errs ...error) huma.StatusError {
	if status == http.StatusInternalServerError && detail == unreadBody {
		status, detail = http.StatusBadRequest, "the body can't be read to its end"
		errs = []error{&huma.ErrorDetail{Location: "body", Message: errors.Join(errs...).Error()}}
	}
	if ctx.Context().Err() != nil {
		errs = nil
	}
	return newProblem(status, detail, errs...)
}

// unreadBody is what the framework says of a body that was cut off.
const unreadBody = "cannot read request body"

// firstFaults returns the faults that an answer has room for, tidy, and then how many
// more there are.
func firstFaults(errs []error) []*huma.ErrorDetail {
	var list []*huma.ErrorDetail
	room := maxFaultsSize
	for i, err := range errs {
		fault := tidied(err)
		weight, err := WeightOf(fault)
		if room -= weight; i == maxFaults || room < 0 || err != nil {
			part, _, _ := strings.Cut(fault.Location, ".")
			return append(list, &huma.ErrorDetail{Location: part, Message: fmt.Sprintf("and %d more faults", len(errs)-i), Value: len(errs) - i})
		}
		list = append(list, fault)
	}
	return list
}

// tidied puts the place and the message of a fault right, gives it its value, and keeps
// it from repeating whole bodies.
func tidied(err error) *huma.ErrorDetail {
	detailed, ok := err.(huma.ErrorDetailer)
	if !ok {
		return &huma.ErrorDetail{Message: cutTo(err.Error(), maxDetail)}
	}
	fault := *detailed.ErrorDetail()
	if placed, ok := readPlaced(fault.Message); ok {
		fault = placed
	} else if fault.Value != nil || valued(fault.Message) {
		fault.Value = echoed(valueAt(&fault))
	}
	fault.Location = strings.Replace(cutTo(fault.Location, maxPlace), ",explode", "", 1)   // the framework's tag
	fault.Message = strings.TrimPrefix(cutTo(fault.Message, maxDetail), "invalid value: ") // the framework's of parameters
	return &fault
}

// valued tells whether the framework looked at a value: then nil is a null that was
// sent.
func valued(message string) bool { return strings.HasPrefix(message, "expected ") }

// maxDepth is how deep the objects lie, at most, in which names are checked.
const maxDepth = 4

// valueAt is the value at a fault's place. Of a member that is not expected, the
// framework gives the whole object; its name is what follows one of the first dots.
func valueAt(fault *huma.ErrorDetail) any {
	members, ok := fault.Value.(map[string]any)
	if !ok || fault.Message != validation.MsgUnexpectedProperty {
		return fault.Value
	}
	name := fault.Location
	for range maxDepth {
		_, name, _ = strings.Cut(name, ".")
		if value, ok := members[name]; ok {
			return value
		}
	}
	return nil
}

// echoed is a value as JSON, or the begin of that as text where it is long. What has no
// value is null.
func echoed(value any) any {
	if text, ok := value.(string); ok {
		return cut(text)
	}
	begin := &beginning{room: maxEcho + 1}
	err := jsonv2.MarshalWrite(begin, value, jsontext.AllowInvalidUTF8(true), jsonv2.Deterministic(true))
	switch {
	case begin.room == 0:
		return cut(string(begin.text))
	case err != nil:
		return nil // it is of ours, and has no JSON
	}
	return json.RawMessage(begin.text)
}

// beginning keeps the first bytes that are written to it, and then ends the writing.
type beginning struct {
	text []byte
	room int
}

var errFull = errors.New("no more is needed")

func (b *beginning) Write(text []byte) (int, error) {
	n := min(len(text), b.room)
	b.text, b.room = append(b.text, text[:n]...), b.room-n
	if b.room == 0 {
		return n, errFull
	}
	return n, nil
}
