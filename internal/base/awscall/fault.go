package awscall

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Fault is an error response.
type Fault struct {
	Action  Action
	Status  int    // the HTTP status
	Code    string // such as AccessDeniedException; "" if the response has none
	Message string
}

func (f *Fault) Error() string {
	if f.Code == "" {
		return fmt.Sprintf("%s: HTTP status %d without an error code", f.Action, f.Status)
	}
	return fmt.Sprintf("%s: %s: %s", f.Action, f.Code, f.Message)
}

// transient reports whether another attempt may succeed.
func (f *Fault) transient() bool {
	return f.Status >= http.StatusInternalServerError || f.Status == http.StatusTooManyRequests || strings.HasPrefix(f.Code, "Throttl")
}

// Code returns the code of a [Fault], or "" for any other error and for nil.
func Code(err error) string {
	if fault, ok := errors.AsType[*Fault](err); ok {
		return fault.Code
	}
	return ""
}

// Denied reports whether the caller lacks the permission for the call.
func Denied(err error) bool {
	switch Code(err) {
	case "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "NotAuthorized":
		return true
	}
	return false
}

// faultOf reads a response's code and message, in any of the three protocols.
func faultOf(action Action, response *http.Response, body []byte) *Fault {
	fault := &Fault{Action: action, Status: response.StatusCode}
	var form struct {
		Error struct{ Code, Message string }
	}
	if xml.Unmarshal(body, &form) == nil && form.Error.Code != "" {
		fault.Code, fault.Message = form.Error.Code, form.Error.Message
		return fault
	}
	var object map[string]any
	_ = json.Unmarshal(body, &object) // a body that is not JSON has no code
	text := func(name string) string { value, _ := object[name].(string); return value }
	fault.Code = text("__type")
	if header := response.Header.Get("X-Amzn-Errortype"); header != "" {
		fault.Code = header
	}
	fault.Code, _, _ = strings.Cut(fault.Code, ":")
	fault.Code = fault.Code[strings.LastIndexByte(fault.Code, '#')+1:]
	if fault.Message = text("message"); fault.Message == "" {
		fault.Message = text("Message")
	}
	return fault
}
