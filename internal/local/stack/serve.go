package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/functions/api"
)

const (
	// proxyConnections is the maximum number of idle connections to DynamoDB Local.
	proxyConnections = 64
	// shutdownTimeout bounds the wait for in-flight requests. A command takes at most 8 s.
	shutdownTimeout = 15 * time.Second

	// Timeouts of the server. A request has at most 256 KB. Its answer takes at most a command and the reads of a page.
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 2 * time.Minute
	// maxHeaderBytes is more than the 10,240 bytes that an API Gateway HTTP API takes.
	maxHeaderBytes = 16 << 10
)

// Listen listens on a port of an interface; 0 is any free port. Use the host 127.0.0.1 for servers that only this
// machine may call, and "" for servers that containers call.
func Listen(host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %d is in use: something else listens on %s; "+
			"choose another port with --port (0: any free port)", port, address)
	case err != nil:
		return nil, fmt.Errorf("port %d: %w; choose another with --port", port, err)
	}
	return l, nil
}

// Serve serves requests for a host of this machine or one of hosts until ctx ends: see api.OwnHost. It then accepts no
// more requests, waits for in-flight ones, and returns nil. what names the server in errors.
func Serve(
	ctx context.Context, what string, l net.Listener, handler http.Handler, log *slog.Logger, hosts ...string,
) error {
	server := &http.Server{
		Handler:           api.OwnHost(handler, hosts...),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	parts, partsCtx := errgroup.WithContext(ctx)
	parts.Go(func() error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	})
	parts.Go(func() error {
		<-partsCtx.Done()
		ending, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		if err := server.Shutdown(ending); err != nil {
			return errors.Join(fmt.Errorf("in-flight requests were cut off: %w", err), server.Close())
		}
		return nil
	})
	return parts.Wait()
}

// ServeStore forwards requests for tables and streams to the DynamoDB Local at an endpoint, which does not check the
// Host. It runs until ctx ends, and then returns nil.
func ServeStore(ctx context.Context, l net.Listener, endpoint string, log *slog.Logger) error {
	target, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // it is on this machine
	transport.DisableCompression = true
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = proxyConnections, proxyConnections
	defer transport.CloseIdleConnections()
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport,
		// Close the caller's connection, because the outcome of the request is unknown.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return Serve(ctx, "the proxy to DynamoDB Local", l, proxy, log)
}
