package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"ledger.example/tests/harness/full"
)

// markup has texts with markup, texts that end an attribute or a URL, and texts that change the text direction.
var markup = []string{
	`<script>alert("1")</script>`, `"><img src=x onerror=alert(1)>`, `' onfocus='alert(1)' x='`, `</title></table></details>`,
	"\u202Etxt.exe\u2066", `{{.}} {{template "status" .}}`, `javascript:alert(1)`, `&lt;b&gt; &amp;`, "`${alert(1)}`", "\u200F\u05D0\u05D1 -5",
}

// longestID returns an id of maximum length with all special characters.
func longestID(begin string) string {
	return begin + strings.Repeat(":@-._", 13)[:64-len(begin)]
}

// Every page escapes names and other texts. Texts of maximum length do not make a page exceed pageBytes.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	s, _ := newProxied(t)
	const legs = 48
	many := full.Count(legs/2+1, 60)
	long := func(i int) string { // 256 characters, most of which are longer in HTML
		return (markup[i%len(markup)] + strings.Repeat(`'"<`, 86))[:len(markup[i%len(markup)])] + strings.Repeat(`'"&<`, 50)
	}
	account := func(i int) string { return longestID(fmt.Sprintf("a%02d", i)) }
	asset := func(i int) string { return longestID(fmt.Sprintf("s%02d", i)) }
	for i := range many {
		s.ledger.Must(http.StatusCreated, "PUT", "/v1/assets/"+asset(i),
			fmt.Sprintf(`{"name":%s,"description":%s,"scale":18}`, text(long(i)), text(long(i+1))))
		s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/"+account(i),
			fmt.Sprintf(`{"name":%s,"overdraft":"unlimited","profile":{"note":%s}}`, text(long(i)), text(long(i+1))))
	}
	const most = "999999999999999999999999999" // 27 digits
	post := func(id, more string, held int) {
		var postings []string
		for i := range legs / 2 {
			postings = append(postings,
				fmt.Sprintf(`{"account":%q,"asset":%q,"quantity":"-%s"}`, account(0), asset((held+i)%many), most),
				fmt.Sprintf(`{"account":%q,"asset":%q,"quantity":"%s"}`, account(i+1), asset((held+i)%many), most))
		}
		s.ledger.Must(http.StatusCreated, "POST", "/v1/transactions", fmt.Sprintf(
			`{"id":%q,"description":%s,"metadata":{"order":%s,%s:%s},"postings":[%s]%s}`, id, text(long(held)),
			text(markup[0]), text(markup[1]), text(long(held+2)), strings.Join(postings, ","), more))
	}
	for i := range full.Count(6, many/2) {
		post(longestID(fmt.Sprintf("t%02d", i)), "", 2*i)
		post(longestID(fmt.Sprintf("h%02d", i)), `,"hold":{}`, 2*i+1)
	}
	ended := longestID("h00")
	var part []string
	for i := range legs {
		part = append(part, fmt.Sprintf(`{"quantity":"%s1"}`, map[bool]string{true: "-"}[i%2 == 0]))
	}
	s.ledger.Must(http.StatusOK, "POST", "/v1/transactions/"+ended+"/capture", `{"postings":[`+strings.Join(part, ",")+`]}`)
	s.ledger.Must(http.StatusOK, "POST", "/v1/transactions/"+longestID("h01")+"/release", `{"description":`+text(long(0))+`}`)
	s.ledger.Must(http.StatusOK, "PATCH", "/v1/accounts/"+account(0), `{"name":`+text(long(3))+`}`)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/periods/1", `{"closed_before":"2026-01-01T00:00:00Z","reason":`+text(long(2))+`}`)
	s.ledger.Project()
	s.submit("user", s.get("", http.StatusOK), values("user", "nobody"))
	paths := []string{
		"", "accounts?q=a&state=", "transactions", "holds", "assets", "groups", "trial-balance?at=now", "search?q=order=" + url.QueryEscape(markup[0]), "search?q=a", "search?q=s",
		"accounts/" + account(0), "accounts/" + account(1), "accounts/" + account(0) + "?asset=" + asset(3), "accounts/" + account(0) + "/statement?asset=" + asset(3), "assets/" + asset(0),
		"transactions/" + longestID("t01"), "transactions/" + longestID("t02"), "transactions/" + longestID("h03"), "transactions/" + ended, "transactions/" + longestID("h01"), "periods", "audit", "refusals?id=" + url.QueryEscape(markup[0]),
		"do/transfer", "do/state?account=" + account(0), "do/reverse?transaction=" + longestID("t03"),
	}
	for _, m := range markup { // query parameters of links
		q := url.QueryEscape(m)
		paths = append(paths, "do/transfer?from="+q+"&to="+q+"&description="+q, "do/state?account="+q)
		for _, bad := range []string{"search?q=" + q, "do/" + url.PathEscape(m), "accounts/" + url.PathEscape(m), "transactions/" + url.PathEscape(m), "accounts?cursor=" + q,
			"transactions?cursor=" + q, "accounts/jane?from=" + q, "accounts/" + account(0) + "?asset=" + q, "accounts/" + account(0) + "?balances=" + q} {
			r, err := s.browser.Get(s.url + bad)
			if err != nil {
				t.Fatal(err)
			}
			s.checkEscaped(bad, s.read(r, r.StatusCode))
			isSearch := strings.HasPrefix(bad, "search") && r.StatusCode == http.StatusOK // no results
			if r.StatusCode != http.StatusNotFound && r.StatusCode != http.StatusBadRequest && !isSearch {
				t.Errorf("%s: %d", bad, r.StatusCode)
			}
		}
	}
	for _, path := range paths {
		s.checkEscaped(path, s.get(path, http.StatusOK))
	}
	filled := values("from", account(0), "to", account(1), "asset", asset(0), "quantity", "1", "description", long(1))
	s.checkEscaped("the preview", s.send("transfer", s.get("do/transfer", http.StatusOK), filled, http.StatusOK))
	filled.Set("description", strings.Repeat(long(0), 2))
	s.checkEscaped("a refusal", s.send("transfer", s.get("do/transfer", http.StatusOK), filled, http.StatusUnprocessableEntity))
}

// checkEscaped fails the test if a page has unescaped markup or an unisolated direction change.
func (s *site) checkEscaped(path, page string) {
	s.Helper()
	for _, harm := range []string{"<script>alert", "<img src=x", "<b>", "</details></", `onfocus='`, `href="javascript:`} {
		if strings.Contains(page, harm) {
			s.Errorf("%s has the unescaped text %q:\n%s", path, harm, page)
		}
	}
	// Texts with direction characters are isolated by <bdi>, or are in an attribute.
	for rest := page; ; {
		before, after, ok := strings.Cut(rest, "\u202E")
		if !ok {
			return
		}
		open := max(strings.LastIndex(before, "<bdi>"), strings.LastIndex(before, `value="`))
		if open < 0 || strings.Contains(before[open:], "</") {
			s.Errorf("%s has an unisolated direction character: …%s", path, before[max(0, len(before)-80):])
		}
		rest = after
	}
}
