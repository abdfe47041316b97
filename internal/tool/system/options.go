package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Options configures a system.
type Options struct {
	Addr      string        // address to listen on, as host:port
	Endpoint  string        // URL of a DynamoDB-compatible engine; "" starts one
	DataDir   string        // folder of the started engine's data; "" is memory
	Prefix    string        // prefix of the tables' names, up to 244 characters
	Window    time.Duration // the detector's windows, 1 s to 15 min in whole seconds
	Idle      time.Duration // how long a window stays open after its end without records; 0 is Lambda's two minutes
	Control   string        // what the detector does about hot keys: act, observe or off
	Limits    Limits        // between the functions and the engine
	OneReader bool          // whether one function reads the streams, so that they have a place for another reader
	Notices   io.Writer     // progress and the engine's licence line
	Log       *slog.Logger
	Version   string // version of this program, which the console shows
	Start     string // command line of this program, which the console shows when it can't reach the API
	Demo      string // line of a demo that the console shows; "" without one

	Commands display.Commands // for the command lines that the console shows

	// Serve returns the API's handler: measurements run the functions as Lambda does. Nil serves all calls in one process.
	Serve func(context.Context, Deployment) (http.Handler, error)
}

// Validate returns an error of one line that names all invalid options, or nil.
func (o Options) Validate() error {
	var faults []string
	addFault := func(err error) {
		if err != nil {
			faults = append(faults, strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	addFault(checkAddr(o.Addr))
	if o.Endpoint != "" {
		addFault(CheckEndpoint(o.Endpoint))
	}
	if o.Endpoint != "" && o.DataDir != "" {
		addFault(errors.New("a data folder is for the engine that hotshard starts: omit it or the endpoint"))
	}
	addFault(checkPrefix(o.Prefix))
	if o.Limits.Partitions != 0 {
		addFault(o.Limits.options().Validate())
	}
	if faults == nil {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}

func checkAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("address %q: want host:port, such as 127.0.0.1:8080", addr)
	}
	return nil
}

// CheckEndpoint validates the URL of an engine. It sends no request.
func CheckEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("endpoint %q: want a URL such as http://127.0.0.1:8000", endpoint)
	}
	return nil
}

// maxTableName is the maximum length of a table's name.
const maxTableName = 255

var tableNamePart = regexp.MustCompile(`^[a-zA-Z0-9_.-]*$`)

func checkPrefix(prefix string) error {
	if !tableNamePart.MatchString(prefix) {
		return fmt.Errorf("prefix %q: want letters, digits and any of _.- only", prefix)
	}
	maxPrefix := maxTableName
	for _, t := range dynamolocal.Tables(schema.NamesFor("")) {
		maxPrefix = min(maxPrefix, maxTableName-len(t.Name))
	}
	if len(prefix) > maxPrefix {
		return fmt.Errorf("prefix of %d characters: want at most %d", len(prefix), maxPrefix)
	}
	return nil
}
