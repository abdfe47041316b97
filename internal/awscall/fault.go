package awscall

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Fault is an answer that is not what was asked for.
type Fault struct {
	Action  Action
	Status  int    // of HTTP
	Code    string // such as AccessDeniedException; "" where the answer names none
	Message string
}

func (f *Fault) Error() string {
	if f.Code == "" {
		return fmt.Sprintf("%s: HTTP status %d, without a reason", f.Action, f.Status)
	}
	return fmt.Sprintf("%s: %s: %s", f.Action, f.Code, f.Message)
}

// passing tells whether the same call may be answered soon.
func (f *Fault) passing() bool {
	return f.Status >= http.StatusInternalServerError || f.Status == http.StatusTooManyRequests || strings.HasPrefix(f.Code, "Throttl")
}

// Code is the code of an AWS fault, or "" of another error and of none.
func Code(err error) string {
	if fault, ok := errors.AsType[*Fault](err); ok {
		return fault.Code
	}
	return ""
}

// Denied tells whether the caller may not make the call.
func Denied(err error) bool {
	switch Code(err) {
	case "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "NotAuthorized":
		return true
	}
	return false
}

// faultOf reads an answer's code and message, in any of the three forms.
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
	_ = json.Unmarshal(body, &object) // what is not JSON names no reason
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
