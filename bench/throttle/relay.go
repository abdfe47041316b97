package throttle

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
)

// relay copies bytes between callers and an engine, until the context ends.
func relay(ctx context.Context, w io.Writer, before string) error {
	engine, err := url.Parse(before)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/4)) // as the proxy has
	fmt.Fprintf(w, "%shttp://%s\n", ready, listener.Addr())
	for {
		caller, err := listener.Accept()
		if err != nil {
			return err
		}
		server, err := net.Dial("tcp", engine.Host)
		if err != nil {
			return err
		}
		go copyUntilClosed(caller, server)
		go copyUntilClosed(server, caller)
	}
}

// copyUntilClosed copies bytes until a side closes, and then closes both.
func copyUntilClosed(to, from net.Conn) {
	_, _ = io.Copy(to, from) // an error ends the connection, too
	to.Close()
	from.Close()
}
