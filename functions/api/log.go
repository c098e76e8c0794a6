package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// log writes the log line of a request. The line has nothing of the contents of request and reply, which may be
// confidential.
func (a *api) log(r *request, id string, status int, took time.Duration, out reply, p *problem) {
	level := slog.LevelInfo
	attrs := append(make([]slog.Attr, 0, attrsMost),
		slog.String("request_id", id), slog.String("method", r.http.Method), slog.Int("status", status),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
	)
	if gateway := gatewayInfoOf(r.http); gateway.id != "" {
		attrs = append(attrs, slog.String("gateway_request_id", gateway.id))
	}
	if r.route != nil {
		attrs = append(attrs, slog.String("route", r.route.Path))
	}
	if r.actor != "" {
		attrs = append(attrs, slog.String("actor", r.actor))
	}
	transaction := out.transaction
	if p != nil {
		attrs = append(attrs, slog.String("code", string(p.Code)))
		transaction = cmp.Or(p.Transaction, r.about())
		if status >= http.StatusInternalServerError && !r.isAbandoned() {
			level = slog.LevelWarn
			if p.cause != nil {
				attrs = append(attrs, slog.String("error", p.cause.Error()))
			}
		}
		if p.Code == ledger.CodeInternal {
			level = slog.LevelError
		}
	}
	if transaction != "" {
		attrs = append(attrs, slog.String("transaction", transaction))
	}
	attrs = measure(attrs, r, status, out, p)
	a.config.Log.LogAttrs(r.http.Context(), level, "request", attrs...)
}

// about returns the id of the transaction that a write is about, "" for none. A batch has many.
func (r *request) about() string {
	id := r.posts
	if r.route != nil && r.route.writes() && strings.HasPrefix(r.route.Path, "/v1/transactions/") {
		id = cmp.Or(id, r.ids["id"])
	}
	if !events.ValidID(id) {
		return ""
	}
	return id
}

// isAbandoned reports whether the caller of a read canceled it. Its failure then needs no attention.
func (r *request) isAbandoned() bool {
	return r.http.Method == http.MethodGet && errors.Is(r.http.Context().Err(), context.Canceled)
}

// attrsMost is the most attributes of a log line.
const attrsMost = 12

// measure appends the attributes of a log line that are metrics.
func measure(attrs []slog.Attr, r *request, status int, out reply, p *problem) []slog.Attr {
	one := func(name string) slog.Attr { return slog.Int(name, 1) }
	write := r.route != nil && r.route.writes() && !r.dry
	switch {
	case p == nil && write && out.batch != (tally{}):
		return append(attrs, slog.Int("TransactionsPosted", out.batch.posted),
			slog.Int("TransactionsReplayed", out.batch.replayed))
	case p == nil && write && out.replayed:
		return append(attrs, one("TransactionsReplayed"))
	case p == nil && write && out.transaction != "" && out.status == http.StatusCreated:
		return append(attrs, one("TransactionsPosted"))
	case p == nil:
	case p.Code == ledger.CodeOutcomeUnknown:
		return append(attrs, one("UnknownOutcomes"))
	case p.Code == ledger.CodeInternal:
		return append(attrs, one("InternalErrors"))
	case status == http.StatusServiceUnavailable && !r.isAbandoned():
		return append(attrs, one("Throttled"))
	case write && status < http.StatusInternalServerError:
		// The code is the dimension of the metric. The number of codes is fixed, whatever callers send.
		return append(attrs, one("Refusals"), slog.String("Code", string(p.Code)))
	}
	return attrs
}
