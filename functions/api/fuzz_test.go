package api

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/ledger"
)

// FuzzQuery sends any query to every list and page: it is answered, or refused with a parameter and a rule, never failed.
func FuzzQuery(f *testing.F) {
	var paths []string
	for _, r := range routes() {
		if r.part == partRead && len(r.query) > 0 {
			paths = append(paths, strings.NewReplacer("{account}", "jane", "{asset}", "USD", "{user}", "u-17").Replace(r.pattern))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, query string) {
		fix := newFixture(t)
		w := fix.doQuery(t, paths[int(which)%len(paths)], query)
		switch {
		case w.Code == 200, w.Code == 404 && answer[problem](t, w).Code == ledger.CodeAssetNotFound:
		case w.Code == 400:
			p := answer[problem](t, w)
			if p.Code != ledger.CodeInvalidRequest && p.Code != codeInvalidCursor || len(p.Errors) == 0 {
				t.Fatalf("%s: %s", query, w.Body)
			}
			for i, e := range p.Errors {
				if e.Rule == "" || slices.ContainsFunc(p.Errors[:i], func(before ledger.FieldError) bool { return before.Field == e.Field }) {
					t.Fatalf("%s: %s", query, w.Body)
				}
			}
		default:
			t.Fatalf("%s: %d %s", query, w.Code, w.Body)
		}
	})
}

// FuzzForgedCursor makes a cursor with a right checksum around any position of any list: it is taken only if the list is
// the one that is asked, and the position one that it could have.
func FuzzForgedCursor(f *testing.F) {
	f.Fuzz(func(t *testing.T, path, filter, position string) {
		cursor := forged(listOf(path, paramAsset, filter), position)
		fix := newFixture(t)
		const asked = "/v1/accounts/jane/postings"
		w := fix.do(t, "GET", asked+"?cursor="+cursor, "")
		fits := listOf(path, paramAsset, filter) == listOf(asked) && (position == "" || isKSUID(position)) && len(cursor) < cursorChars
		if fits && w.Code == 200 {
			return
		}
		if fields := refused(t, w, 400, codeInvalidCursor); fits || fields != paramCursor {
			t.Fatalf("%s %s %q: %s", path, filter, position, w.Body)
		}
	})
}

// FuzzPut sends any body to what is registered, opened and granted: it never fails, and what reaches the ledger is well
// shaped.
func FuzzPut(f *testing.F) {
	f.Fuzz(func(t *testing.T, which uint8, id, body string) {
		fix := newFixture(t)
		path := []string{"/v1/assets/", "/v1/accounts/", "/v1/accounts/jane/members/"}[which%3]
		r := httptest.NewRequest("PUT", "/", strings.NewReader(body))
		r.URL.Path, r.URL.RawPath = path+id, ""
		r.Header.Set("Content-Type", jsonType)
		w := httptest.NewRecorder()
		fix.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("PUT %s %s answered %s", r.URL, body, w.Body)
		}
		if c, ok := fix.commands.last.(interface{ Shape() []ledger.FieldError }); ok && len(c.Shape()) > 0 {
			t.Fatalf("%s reached the ledger: %v", body, c.Shape())
		}
		if p := (problem{}); w.Code == 400 && (json.Unmarshal(w.Body.Bytes(), &p) != nil || p.Code == ledger.CodeInvalidRequest && len(p.Errors) == 0) {
			t.Fatalf("PUT %s %s is refused for nothing: %s", r.URL, body, w.Body)
		}
	})
}

// FuzzGateway takes any event for a gateway's: what cannot be one is an error, and the rest is answered just as over HTTP.
func FuzzGateway(f *testing.F) {
	f.Add([]byte(sample))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e lambdaevents.APIGatewayV2HTTPRequest
		if json.Unmarshal(text, &e) != nil {
			return
		}
		fix := newFixture(t)
		out, err := Gateway(fix)(t.Context(), e)
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
		direct.Method, direct.URL.Path, direct.URL.RawQuery = e.RequestContext.HTTP.Method, path(e.RawPath, e.RequestContext.Stage), e.RawQueryString
		for name, value := range e.Headers {
			direct.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		newFixture(t).ServeHTTP(w, direct)
		if w.Code != out.StatusCode {
			t.Fatalf("%s: %d %s; over HTTP %d %s", text, out.StatusCode, out.Body, w.Code, w.Body)
		}
	})
}
