package console

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledger.example/client"
)

// backdate posts a transfer of 1 from bank to jane with an effective time.
func (s *site) backdate(id, asset, at string) {
	s.Helper()
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers",
		`{"id":"`+id+`","from":"bank","to":"jane","asset":"`+asset+`","quantity":"1","effective_at":"`+at+`"}`)
}

var transactionLink = regexp.MustCompile(`<a href="/console/transactions/([^"?]*)(?:\?zone=[^"]*)?">`)

// entries returns the ids of the transactions in the history of a page, in order.
func entries(page string) (ids []string) {
	_, section, _ := strings.Cut(page, `id="history-title"`)
	for _, found := range transactionLink.FindAllStringSubmatch(section, -1) {
		ids = append(ids, found[1])
	}
	return ids
}

// link returns the target of the link with a text, "" if there is none.
func link(page, text string) string {
	found := regexp.MustCompile(`<a href="/console/([^"]*)">` + text + `</a>`).FindStringSubmatch(page)
	if found == nil {
		return ""
	}
	address, _, _ := strings.Cut(html.UnescapeString(found[1]), "#")
	return address
}

// The history, the statement and the chart of an account cover the chosen days.
func TestHistoryByDays(t *testing.T) {
	s := newSite(t)
	s.ledger.OpenBooks()
	for id, at := range map[string]string{
		"before": "2026-01-01T23:59:59.999999Z", "first": "2026-01-02T00:00:00Z", "noon": "2026-01-02T12:00:00Z",
		"last": "2026-01-02T23:59:59.999999Z", "after": "2026-01-03T00:00:00Z",
	} {
		s.backdate(id, "USD", at)
		s.backdate(id+"-gold", "GOLD", at)
	}
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"formula","from":"bank","to":"shop","asset":"USD",`+
		`"quantity":"1","description":"=1+1","effective_at":"2026-01-02T00:00:00Z"}`)
	s.ledger.Project()
	s.has(s.get("accounts/shop/statement.csv?asset=USD&from=2026-01-02", http.StatusOK), ",0.01,0,,'=1+1,0.00,posted,0.01")
	for query, want := range map[string]string{
		"from=2026-01-02&to=2026-01-02&asset=USD": "last noon first",
		"from=2026-01-02&to=2026-01-02":           "last last-gold noon noon-gold first first-gold",
		"from=2026-01-03&to=2026-01-05&asset=USD": "after",
		"from=2026-01-03&asset=USD":               "t-1 d-1 after",
		"to=2026-01-01&asset=USD":                 "before",
		"to=2026-01-01&asset=":                    "before before-gold",
		"from=2026-01-04&to=2026-01-05":           "",
		"from=0001-01-01&to=0001-01-02":           "",
		"from=9999-12-31&to=9999-12-31":           "",
		"from=0001-01-01&to=9999-12-31&asset=USD": "t-1 d-1 after last noon first before",
		// In Tokyo, the day ends at 15:00 UTC, and in Kiritimati at 10:00.
		"from=2026-01-02&to=2026-01-02&asset=USD&zone=Asia/Tokyo":         "noon first before",
		"from=2026-01-02&to=2026-01-02&asset=USD&zone=Pacific/Kiritimati": "first before",
	} {
		page := s.get("accounts/jane?"+query, http.StatusOK)
		if got := strings.Join(sortedGold(entries(page)), " "); got != want {
			t.Errorf("%s has %q, want %q", query, got, want)
		}
		chosen, _ := url.ParseQuery(query)
		asset := chosen.Get("asset")
		if file := link(page, "CSV"); file == "" {
			s.has(page, "No statement yet") // without an asset, it is of that of the newest posting
		} else if asset != "" {
			s.has(s.get(file, http.StatusOK), "line,posted_at,transaction", "opening,", "closing,")
			s.get(strings.Replace(file, "statement.csv", "chart.svg", 1), http.StatusOK)
		}
	}
	tokyo := s.get("accounts/jane?asset=USD&from=2026-01-02&to=2026-01-02&zone=Asia/Tokyo", http.StatusOK)
	s.has(tokyo, `<input type="hidden" name="zone" value="Asia/Tokyo">`, "Days are in Asia/Tokyo.")
	s.has(tokyo, "2026-01-02 to 2026-01-02")
	s.has(s.get(link(tokyo, "CSV"), http.StatusOK), "opening,2026-01-01T15:00:00", "before", "noon", "closing,2026-01-02T15:00:00")
	page := s.get("accounts/jane?asset=USD&from=2026-01-02&to=2026-01-02", http.StatusOK)
	s.has(page, "Days are in UTC.")
	s.has(page, "2026-01-02 to 2026-01-02",
		`alt="Chart of the USD balance, 2026-01-02 to 2026-01-02"`, "<option selected>USD", `value="2026-01-02"`, `value="2026-01-02"`)
	var quantities []string
	for _, line := range strings.Split(s.get(link(page, "CSV"), http.StatusOK), "\n") {
		fields := strings.Split(line, ",")
		quantities = append(quantities, fields[len(fields)-1])
	}
	if want := []string{"balance_after", "0.01", "0.02", "0.03", "0.04", "0.04", ""}; !slices.Equal(quantities, want) {
		t.Errorf("the statement has the balances %q, want %q", quantities, want)
	}
	var whole client.Statement
	text := s.get(link(page, "JSON"), http.StatusOK)
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if whole.Opening.Quantity.String() != "1" || whole.Closing.Quantity.String() != "4" || len(whole.Data) != 3 ||
		whole.Data[2].Transaction != "last" || whole.Data[2].BalanceAfter.String() != "4" || !whole.Settled ||
		whole.From != "2026-01-02T00:00:00.000000Z" || whole.To != "2026-01-03T00:00:00.000000Z" {
		t.Errorf("%+v", whole)
	}
}

// sortedGold moves entries in gold behind those in other assets with the same time, whose order is not guaranteed.
func sortedGold(ids []string) []string {
	for i := 1; i < len(ids); i++ {
		if ids[i-1] == ids[i]+"-gold" {
			ids[i-1], ids[i] = ids[i], ids[i-1]
		}
	}
	return ids
}

// The pages of a history keep the filter. A long statement is downloaded completely, and it has a chart.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ledger.OpenBooks()
	const many = 410
	s.batch(many, func(i int) string {
		return fmt.Sprintf(`{"transfer":{"id":"m-%03d","from":"bank","to":"jane","asset":"USD","quantity":"1","effective_at":"2026-02-%02dT00:00:00.%06dZ"}}`,
			i, 1+i%28, i)
	})
	s.ledger.Project()
	path := "accounts/jane?asset=USD&from=2026-02-01&to=2026-02-07"
	first := s.get(path, http.StatusOK)
	// Transaction i is on day 1 + i%28: days 1 to 7 have 15 each.
	s.checkPages(path, "history-title", "Older", transactionLink.String(), 105)
	second := s.get(link(first, "Older"), http.StatusOK)
	s.has(second, "<option selected>USD", `value="2026-02-01"`, `value="2026-02-07"`)
	if newest := link(second, "Newest"); newest != path {
		t.Errorf("the second page leads to %q, want %q", newest, path)
	}
	all := strings.Replace(link(first, "CSV"), "to=2026-02-07", "to=2026-02-28", 1)
	if lines := strings.Count(s.get(all, http.StatusOK), "\n"); lines != many+3 {
		t.Errorf("the statement has %d lines, want %d", lines, many+3)
	}
	var whole client.Statement
	if err := json.Unmarshal([]byte(s.get(strings.Replace(all, ".csv", ".json", 1), http.StatusOK)), &whole); err != nil ||
		len(whole.Data) != many || whole.Closing.Quantity.String() != fmt.Sprint(many) {
		t.Errorf("%v: %d lines, closing %s", err, len(whole.Data), whole.Closing.Quantity)
	}
	s.has(s.get(strings.Replace(all, "statement.csv", "chart.svg", 1), http.StatusOK), "<svg", "<path")
}

// An invalid day, asset or cursor shows an error instead of the history. The rest of the page is shown.
func TestInvalidHistoryQuery(t *testing.T) {
	s := newSite(t)
	s.ledger.OpenBooks()
	s.ledger.Project()
	for query, c := range map[string]struct {
		status int
		text   string
	}{
		"from=2026-13-01":               {http.StatusBadRequest, `From: &#34;2026-13-01&#34; is not a day`},
		"to=yesterday":                  {http.StatusBadRequest, `To: &#34;yesterday&#34; is not a day`},
		"to=2026-02-30":                 {http.StatusBadRequest, `To: `},
		"from=2026-02-02T00:00:00Z":     {http.StatusBadRequest, `From: `},
		"from=2026-02-02&to=2026-02-01": {http.StatusBadRequest, `From (2026-02-02) must not be after To (2026-02-01)`},
		`from="><script>alert(1)`:       {http.StatusBadRequest, `&lt;script&gt;`},
		"from=2026-02-02&zone=Local":    {http.StatusBadRequest, `Zone: &#34;Local&#34; must be a name of the IANA`},
		"from=2026-02-02&zone=../UTC":   {http.StatusBadRequest, `Zone: `},
		"cursor=x":                      {http.StatusBadRequest, `cursor`},
		"asset=NONE":                    {http.StatusNotFound, `no such asset`},
		"asset=a/b":                     {http.StatusBadRequest, `Asset: &#34;a/b&#34; is not an id`},
	} {
		at, value, _ := strings.Cut(query, "=")
		if strings.ContainsAny(query, "<") {
			query = at + "=" + url.QueryEscape(value)
		}
		page := s.get("accounts/jane?"+query, c.status)
		s.has(page, "Jane Doe", "3,500.00", `role="alert"`, c.text)
		if len(entries(page)) > 0 || strings.Contains(page, "<script>alert") {
			t.Errorf("%s: %s", query, page)
		}
		if at == "from" {
			s.has(s.get("accounts/jane/statement.csv?asset=USD&"+query, c.status), c.text)
			s.get("accounts/jane/statement.json?asset=USD&"+query, c.status)
			s.get("accounts/jane/chart.svg?asset=USD&"+query, c.status)
		}
	}
	s.has(s.get("accounts/jane?asset=GOLD", http.StatusOK), "<option>AAPL", "<option selected>GOLD") // also if there is none of it
	s.get("accounts/nobody?from=x", http.StatusNotFound)
	s.get("accounts/jane/statement.csv", http.StatusNotFound)
}

// Balances in more assets than fit on a page are paged.
func TestManyBalances(t *testing.T) {
	s := newSite(t)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/bank", `{"name":"Bank","overdraft":"unlimited"}`)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/jane", `{"name":"Jane Doe"}`)
	const many, legs = 130, 13
	for first := 0; first < many; first += legs {
		var postings []string
		for i := first; i < first+legs; i++ {
			asset := fmt.Sprintf("A%03d", i)
			s.ledger.Must(http.StatusCreated, "PUT", "/v1/assets/"+asset, `{"name":"One of many","scale":2}`)
			for account, quantity := range map[string]string{"bank": "-1", "jane": "1"} {
				postings = append(postings, fmt.Sprintf(`{"account":%q,"asset":%q,"quantity":%q}`, account, asset, quantity))
			}
		}
		s.ledger.Must(http.StatusCreated, "POST", "/v1/transactions", `{"postings":[`+strings.Join(postings, ",")+`]}`)
	}
	s.ledger.Project()
	s.checkPages("accounts/jane", "balances-title", "More balances", `<a href="/console/assets/(A\d+)">`, many)
}
