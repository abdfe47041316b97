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

// Bounds, in bytes, of a caller's text that a response repeats.
const (
	maxEcho   = 100
	maxPlace  = 200
	maxDetail = 1000
)

// Bounds of the faults in an error response. A last fault has the number of omitted faults.
const (
	maxFaults     = 100
	maxFaultsSize = 60 << 10 // with the rest of the response it stays below 64 KB
)

func cutEcho(text string) string { return cutTo(text, maxEcho) }

// cutTo returns a text of up to limit bytes unchanged, and the beginning of a longer text.
func cutTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// newProblem returns an error response. All responses are made here, also the framework's: see setFramework.
func newProblem(status int, detail string, errs ...error) huma.StatusError {
	return &huma.ErrorModel{Status: status, Title: http.StatusText(status), Detail: cutTo(detail, maxDetail), Errors: firstFaults(errs)}
}

// newProblemFor is newProblem for a request that the framework rejects. It makes the framework's 500 for an incomplete
// body a 400.
func newProblemFor(_ huma.Context, status int, detail string, errs ...error) huma.StatusError {
	if status == http.StatusInternalServerError && detail == unreadBody {
		status, detail = http.StatusBadRequest, "the body can't be read to its end"
		errs = []error{&huma.ErrorDetail{Location: "body", Message: errors.Join(errs...).Error()}}
	}
	return newProblem(status, detail, errs...)
}

// unreadBody is the framework's message for an incomplete body.
const unreadBody = "cannot read request body"

// firstFaults returns as many faults as fit into a response. If it omits some, a last fault has their number.
func firstFaults(errs []error) []*huma.ErrorDetail {
	var list []*huma.ErrorDetail
	left := maxFaultsSize
	for i, err := range errs {
		fault := shownFault(err)
		weight, weightErr := WeightOf(fault)
		left -= weight
		if i == maxFaults || left < 0 || weightErr != nil {
			part, _, _ := strings.Cut(fault.Location, ".") // of the request, such as body
			return append(list, &huma.ErrorDetail{Location: part, Message: fmt.Sprintf("and %d more faults", len(errs)-i), Value: len(errs) - i})
		}
		list = append(list, fault)
	}
	return list
}

// shownFault returns the fault that a caller sees: with the framework's location and message corrected, and with
// location, message and value shortened.
func shownFault(err error) *huma.ErrorDetail {
	detailed, ok := err.(huma.ErrorDetailer)
	if !ok {
		return &huma.ErrorDetail{Message: cutTo(err.Error(), maxDetail)}
	}
	fault := *detailed.ErrorDetail()
	rejectsValue := strings.HasPrefix(fault.Message, "expected ") // so that a nil value is a JSON null
	if fault.Value != nil || rejectsValue {
		fault.Value = shownValue(rejectedValue(&fault))
	}
	fault.Location = strings.Replace(cutTo(fault.Location, maxPlace), ",explode", "", 1)   // the framework's tag
	fault.Message = strings.TrimPrefix(cutTo(fault.Message, maxDetail), "invalid value: ") // the framework's prefix for parameters
	return &fault
}

// maxDepth bounds the depth of a request's objects.
const maxDepth = 4

// rejectedValue returns the value at a fault's location. For an unexpected member the framework's value is the whole
// object, and the location ends in the member's name. The name may have dots, so each suffix of the location is tried.
func rejectedValue(fault *huma.ErrorDetail) any {
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

// shownValue returns a value as JSON, or the beginning of a string or of JSON longer than maxEcho, as text.
func shownValue(value any) any {
	if text, ok := value.(string); ok {
		return cutEcho(text)
	}
	prefix := &prefixWriter{left: maxEcho + 1} // so that cutEcho cuts a longer text
	err := jsonv2.MarshalWrite(prefix, value, jsontext.AllowInvalidUTF8(true), jsonv2.Deterministic(true))
	switch {
	case prefix.left == 0:
		return cutEcho(string(prefix.text))
	case err != nil:
		return nil // a value of hotshard's own that has no JSON
	}
	return json.RawMessage(prefix.text)
}

// prefixWriter keeps the first bytes written to it. It returns errFull once it has all of them.
type prefixWriter struct {
	text []byte
	left int // bytes still to be kept
}

var errFull = errors.New("the prefix is complete")

func (b *prefixWriter) Write(text []byte) (int, error) {
	n := min(len(text), b.left)
	b.text, b.left = append(b.text, text[:n]...), b.left-n
	if b.left == 0 {
		return n, errFull
	}
	return n, nil
}
