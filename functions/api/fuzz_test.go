package api

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/ledger"
)

// FuzzForgedCursor sends a cursor with a valid checksum and any list and position. It is accepted only if the list is
// the requested one and the position is possible in it.
func FuzzForgedCursor(f *testing.F) {
	fix := newFixture(f)
	f.Fuzz(func(t *testing.T, path, filter, position string) {
		name := path + filter
		cursor := listed{name: name}.cursor(position)
		const asked = "/v1/accounts/jane/postings"
		w := fix.do(t, "GET", asked+"?cursor="+cursor, "")
		fits := name == asked && (position == "" || isKSUID(position)) && len(cursor) < cursorChars
		if fits && w.Code == 200 {
			return
		}
		if fields := refused(t, w, 400, codeInvalidCursor); fits || fields != paramCursor {
			t.Fatalf("%s %s %q: %s", path, filter, position, w.Body)
		}
	})
}

// FuzzWrite sends any body to every route with a body. No request fails, and a 400 lists at least one fault.
func FuzzWrite(f *testing.F) {
	f.Add(uint8(3), "", goodTransfer)
	f.Add(uint8(4), "",
		`{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"market","quantity":"10","cost":"150000","settle":true}`)
	f.Add(uint8(5), "",
		`{"postings":[{"account":"a","asset":"x","quantity":"-2"},`+
			`{"account":"b","asset":"x","quantity":"2"}],"metadata":{"a":"b"}}`)
	fix := newFixture(f)
	f.Fuzz(func(t *testing.T, which uint8, id, body string) {
		r := httptest.NewRequest("PUT", "/", strings.NewReader(body))
		if which %= 6; which < 3 {
			r.URL.Path = []string{"/v1/assets/", "/v1/accounts/", "/v1/accounts/jane/members/"}[which] + id
		} else {
			r.Method, r.URL.Path = "POST", []string{"/v1/transfers", "/v1/trades", "/v1/transactions"}[which-3]
		}
		r.Header.Set("Content-Type", jsonType)
		w := httptest.NewRecorder()
		fix.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%s %s answered %s", r.URL, body, w.Body)
		}
		if p := (problem{}); w.Code == 400 && (json.Unmarshal(w.Body.Bytes(), &p) != nil ||
			p.Code == ledger.CodeInvalidRequest && len(p.Errors) == 0) {
			t.Fatalf("%s %s is refused for nothing: %s", r.URL, body, w.Body)
		}
	})
}

// FuzzGateway passes any event as one of a gateway. One of another kind or with an invalid body is an error. All others
// are answered as over HTTP.
func FuzzGateway(f *testing.F) {
	fix, other := newFixture(f), newFixture(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		var e lambdaevents.APIGatewayV2HTTPRequest
		if json.Unmarshal(text, &e) != nil {
			return
		}
		out, err := Gateway(fix)(t.Context(), e)
		if isForeign := e.RequestContext.HTTP.Method == ""; isForeign {
			if err == nil {
				t.Fatalf("%s: an event of another kind is answered with %d", text, out.StatusCode)
			}
			return
		}
		body := []byte(e.Body)
		if e.IsBase64Encoded {
			decoded, wrong := base64.StdEncoding.DecodeString(e.Body)
			if (wrong != nil) != (err != nil) {
				t.Fatalf("%s: %v, %v", text, err, wrong)
			}
			body = decoded
		}
		if err != nil {
			return
		}
		if out.StatusCode < 200 || out.StatusCode >= 500 {
			t.Fatalf("%s: %d %s", text, out.StatusCode, out.Body)
		}
		direct := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(string(body)))
		direct.Method, direct.URL.Path, direct.URL.RawQuery = e.RequestContext.HTTP.Method, path(e.RawPath,
			e.RequestContext.Stage), e.RawQueryString
		for name, value := range e.Headers {
			direct.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		other.ServeHTTP(w, direct)
		if w.Code != out.StatusCode {
			t.Fatalf("%s: %d %s; over HTTP %d %s", text, out.StatusCode, out.Body, w.Code, w.Body)
		}
	})
}
