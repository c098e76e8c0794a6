package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// reply is what a handler answers when all is well.
type reply struct {
	status   int
	body     any    // marshalled as JSON, unless it is of type raw
	location string // of what was made
	replayed bool   // a transaction that had been posted before
	fixed    bool   // will never change: gets an ETag
	id       string // of the transaction, for the log
}

// raw is a body that is ready to send, with its media type.
type raw struct {
	mediaType string
	text      []byte
}

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

func ok(body any) (reply, error) { return reply{status: http.StatusOK, body: body}, nil }

// replyBytes is what most replies fit into.
const replyBytes = 512

// marshal writes v as compact JSON with a line end, and without escaping for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(replyBytes)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// send writes a reply. It fails, having written nothing, when the body cannot be marshalled.
func (out reply) send(w http.ResponseWriter, r *http.Request) (status int, err error) {
	content, isRaw := out.body.(raw)
	if !isRaw {
		content.mediaType = jsonType
		if content.text, err = marshal(out.body); err != nil {
			return 0, err
		}
	}
	h := w.Header()
	if out.replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	if out.fixed {
		// Kept by the caller alone, and asked for again each time: who may read can change though the content cannot.
		h.Set("Cache-Control", "private, no-cache")
		tag := etag(content.text)
		h.Set("ETag", tag)
		if noneMatch(r.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return http.StatusNotModified, nil
		}
	}
	sendBytes(w, r, out.status, content, out.location)
	return out.status, nil
}

// send writes a problem.
func (p *problem) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if len(p.allow) > 0 {
		h.Set("Allow", strings.Join(p.allow, ", "))
	}
	if p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(max(1, int((p.retryAfter+time.Second-1)/time.Second))))
	}
	text, err := marshal(p)
	if err != nil { // of texts and amounts only: cannot be
		text = nil
	}
	sendBytes(w, r, p.Status, raw{problemType, text}, "")
}

// sendBytes sends a content, which nobody keeps unless Cache-Control was set already, and where it can be found, unless
// that is "".
func sendBytes(w http.ResponseWriter, r *http.Request, status int, content raw, location string) {
	h := w.Header()
	values := [...]string{content.mediaType, strconv.Itoa(len(content.text)), "nosniff", "no-store", location}
	one := func(i int) []string { return values[i : i+1 : i+1] } // lists of one, on one array
	h["Content-Type"], h["Content-Length"], h["X-Content-Type-Options"] = one(0), one(1), one(2)
	if h["Cache-Control"] == nil {
		h["Cache-Control"] = one(3)
	}
	if location != "" {
		h["Location"] = one(4)
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(content.text) // a caller who is gone needs no answer
	}
}

// etag returns the strong entity tag of a content.
func etag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
}

// noneMatch tells whether an If-None-Match names tag, comparing weakly (RFC 9110, 13.1.2). Our tags hold no comma.
func noneMatch(values []string, tag string) bool {
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}
