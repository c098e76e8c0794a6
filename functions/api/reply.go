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

	"ledger.example/client"
	"ledger.example/events"
)

// reply is the successful answer of a handler.
type reply struct {
	status      int
	body        any     // marshaled as JSON, unless it is of type raw
	location    string  // path of the created resource, "" for none
	replayed    bool    // the request repeats an earlier one
	next        *string // the cursor of the next page, for the header Link; nil for none
	transaction string  // id for the log, "" for none
	batch       tally
}

// tally counts the transactions that a batch posted and replayed.
type tally struct{ posted, replayed int }

// raw is a body with its media type. Either its text is for everybody, or it is written after what it shows was
// checked, from nothing else that needs a role.
type raw struct {
	mediaType string
	text      []byte
	shows     any
	write     func(shows any) ([]byte, error)
}

// The media types of replies and problems.
const (
	jsonType    = "application/json"
	csvType     = "text/csv"
	problemType = "application/problem+json"
)

// ok answers 200 with a body.
func ok(body any) (reply, error) { return reply{status: http.StatusOK, body: body}, nil }

// okIf answers 200 with a body unless there is an error.
func okIf(body any, err error) (reply, error) { return reply{status: http.StatusOK, body: body}, err }

// written answers a write: 201 if it created the resource at location, otherwise 200.
func written(created bool, location string, body any) reply {
	if created {
		return reply{status: http.StatusCreated, body: body, location: location}
	}
	return reply{status: http.StatusOK, body: body}
}

// replyBytes is the initial size of the buffer for a reply. Most replies fit.
const replyBytes = 512

// marshal returns v as compact JSON with a newline, without HTML escaping.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(replyBytes)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// send writes a reply. If it is tagged, it has an ETag: the version of an account, or a hash of the content. If the
// body cannot be marshaled, send returns an error and writes nothing.
func (out reply) send(w http.ResponseWriter, r *http.Request, tagged bool) (status int, err error) {
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
	if out.next != nil {
		query := r.URL.Query()
		query.Set(paramCursor, *out.next)
		h.Set("Link", "<?"+query.Encode()+`>; rel="next"`) // relative, because a gateway's stage may precede the path
	}
	if tagged {
		// Only the caller may cache the reply, and must revalidate it: the content and the caller's roles can change.
		h.Set("Cache-Control", "private, no-cache")
		tag := etag(content.text)
		if account, isAccount := out.body.(client.Account); isAccount {
			tag = `"` + strconv.FormatInt(account.Version, 10) + `"`
		}
		h.Set("ETag", tag)
		isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
		if isRead && noneMatch(r.Header.Values(headerNoneMatch), tag) {
			w.WriteHeader(http.StatusNotModified)
			return http.StatusNotModified, nil
		}
	}
	sendBytes(w, r, out.status, content, out.location)
	return out.status, nil
}

// challenges lists the authentication schemes (RFC 9110, 11.6.1): AWS signatures and bearer tokens. Each gateway
// accepts one of them.
const challenges = "AWS4-HMAC-SHA256, Bearer"

// send writes a problem.
func (p *problem) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if len(p.allow) > 0 {
		h.Set("Allow", strings.Join(p.allow, ", "))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenges)
	}
	if p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(max(1, int((p.retryAfter+time.Second-1)/time.Second))))
	}
	text, err := marshal(p)
	if err != nil { // cannot happen: a problem has only strings and amounts
		text = nil
	}
	sendBytes(w, r, p.Status, raw{mediaType: problemType, text: text}, "")
}

// sendBytes sends a content, with a Location header unless location is "". It forbids caching unless Cache-Control is
// already set.
func sendBytes(w http.ResponseWriter, r *http.Request, status int, content raw, location string) {
	h := w.Header()
	values := [...]string{content.mediaType, strconv.Itoa(len(content.text)), "nosniff", "no-store", location}
	one := func(i int) []string { return values[i : i+1 : i+1] } // one allocation for all headers
	h["Content-Type"], h["Content-Length"], h["X-Content-Type-Options"] = one(0), one(1), one(2)
	if h["Cache-Control"] == nil {
		h["Cache-Control"] = one(3)
	}
	if location != "" {
		h["Location"] = one(4)
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(content.text) // it fails only if the caller is gone
	}
}

// etag returns the strong entity tag of a content.
func etag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
}

// noneMatch reports whether an If-None-Match header contains tag, by weak comparison (RFC 9110, 13.1.2). The API's tags
// have no commas.
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

// orNull returns nil, which becomes null in JSON, for an empty string.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// timeOf returns the time of a KSUID, nil if id is "".
func timeOf(id events.KSUID) *string {
	if id == "" {
		return nil
	}
	text := events.FormatTime(id.Time())
	return &text
}
