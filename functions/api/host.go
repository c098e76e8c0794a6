package api

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// dockerHost is the name by which containers know this machine (functions/local.json).
const dockerHost = "host.docker.internal"

// OwnHost passes requests to next if their Host is a name of this machine, and rejects all others. The SDK
// can read the rejection as an error of DynamoDB.
//
// It is for servers on this machine, which do not authenticate callers, so web pages of other sites must not reach
// next. By DNS rebinding such a page can point its own host name to 127.0.0.1, and the browser then sends that name as
// Host.
func OwnHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isOwnHost(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		p := newProblem(codeForeignHost,
			"The request's Host is not a name of this machine: use localhost or an IP address.")
		p.RequestID = RequestID(r.Header)
		refusal := struct {
			*problem
			SDKType string `json:"__type"`
			Message string `json:"message"`
		}{p, string(p.Code), p.Detail}
		w.Header().Set("X-Request-Id", p.RequestID)
		w.Header().Set("Content-Type", problemType)
		w.WriteHeader(p.Status)
		_ = json.NewEncoder(w).Encode(refusal) // it fails if the caller has disconnected
	})
}

// isOwnHost reports whether a host, with or without a port, is a name of this machine that no other site can have: an
// IP address, localhost and its subdomains (RFC 6761), or dockerHost.
func isOwnHost(host string) bool {
	if name, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host == dockerHost
}
