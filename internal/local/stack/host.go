package stack

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"ledger.example/functions/api"
)

// dockerHost is the name by which containers know this machine (functions/local.json).
const dockerHost = "host.docker.internal"

// problem is a problem document (RFC 9457). SDKType and Message make it an error of DynamoDB for the SDK.
type problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Code      string `json:"code"`
	RequestID string `json:"request_id"`
	SDKType   string `json:"__type,omitempty"`
	Message   string `json:"message,omitempty"`
}

// OwnHost passes requests to next if their Host is a name of this machine, and rejects all others. With asDynamoDB, the
// SDK can read the rejection.
//
// Callers are not authenticated here, so web pages of other sites must not reach next. By DNS rebinding such a page can
// point its own host name to 127.0.0.1, and the browser then sends that name as Host.
func OwnHost(next http.Handler, asDynamoDB bool) http.Handler {
	path, title, status := api.TypeOf(api.CodeForeignHost)
	refusal := problem{
		Type: path, Title: title, Status: status, Code: string(api.CodeForeignHost),
		Detail: "The request's Host is not a name of this machine: use localhost or an IP address.",
	}
	if asDynamoDB {
		refusal.SDKType, refusal.Message = refusal.Code, refusal.Detail
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isOwnHost(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		answer := refusal
		answer.RequestID = api.RequestID(r.Header)
		w.Header().Set("X-Request-Id", answer.RequestID)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(answer.Status)
		_ = json.NewEncoder(w).Encode(answer) // it fails if the caller has disconnected
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
