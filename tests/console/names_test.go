package console

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/harness/system"
)

// people opens accounts with names, and posts a transfer of 50 USD from Ann Poe to Ben Roe.
func (s *site) people() {
	s.Helper()
	s.ledger.OpenBooks()
	for id, name := range map[string]string{"users:1:main": "Ann Poe", "users:2:main": "Ben Roe", "users:3:main": "Cara Poe"} {
		s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/"+id, `{"name":"`+name+`","overdraft":{"USD":"10000"}}`)
	}
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/groups/desk", `{"name":"Front desk"}`)
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers",
		`{"id":"lunch-1","from":"users:1:main","to":"users:2:main","asset":"USD","quantity":"5000","description":"Lunch for two"}`)
	s.ledger.Project()
}

// People find accounts, assets, groups and transactions by what they know of them, in the search and in the lists.
func TestFindByNames(t *testing.T) {
	s := newSite(t)
	s.people()
	const ann, lunch = `/console/accounts/users:1:main"`, `/console/transactions/lunch-1"`
	for path, want := range map[string]string{
		"search?q=Ann+Poe": ann, "search?q=poe": ann, "search?q=USERS:1": ann, "search?q=1:main": ann, "search?q=dollar": `/console/assets/USD"`,
		"search?q=front": `/console/groups/desk"`, "search?q=unch": lunch, "search?q=lunch+for": lunch, "search?q=50.00": lunch, "search?q=50": lunch,
		"search?q=ben": lunch, "transactions?q=50.00": lunch, "transactions?q=-50": lunch, "transactions?q=TWO": lunch, "transactions?q=ann+p": lunch,
		"transactions?status=posted&kind=transfer": lunch, "accounts?q=poe": ann, "accounts?state=open": ann, "assets?q=DOLLAR": `/console/assets/USD"`,
	} {
		s.has(s.get(path, http.StatusOK), want)
	}
	for path, lacks := range map[string]string{
		"search?q=5.00": lunch, "transactions?q=5000": lunch, "transactions?q=500": lunch, "transactions?status=held": lunch, "transactions?kind=trade": lunch,
		"transactions?to=2020-01-01": lunch, "accounts?q=roe": ann, "accounts?state=frozen": ann,
	} {
		s.lacks(s.get(path, http.StatusOK), lacks)
	}
	s.has(s.get("transactions?from=x", http.StatusBadRequest), `role="alert"`, "is not a day")
	s.has(s.get("transactions/lunch-1", http.StatusOK), "users:<wbr>1:<wbr>main</a> <small><bdi>Ann Poe") // lines break at colons
}

// Forms offer names, and take them in place of ids. A name of several accounts is refused, with their ids.
func TestFormsTakeNames(t *testing.T) {
	s := newSite(t)
	s.people()
	form := s.get("do/transfer", http.StatusOK)
	s.has(form, `list="list-accounts"`, `list="list-assets"`, `<datalist id="list-accounts">`, `<option value="users:1:main">Ann Poe</option>`)
	s.has(s.get("options?of=accounts&q=poe", http.StatusOK), `<option value="users:1:main">Ann Poe</option><option value="users:3:main">Cara Poe</option>`)
	filled := values("from", "ann poe", "to", "roe", "asset", "dollar", "quantity", "20.00")
	preview := s.send("transfer", form, filled, http.StatusOK)
	s.has(preview, `users:<wbr>1:<wbr>main</a> <small><bdi>Ann Poe`, "-20.00", "-50.00", "-70.00", "50.00", "30.00", // posted and available
		`users:<wbr>2`, "20.00", "50.00", "70.00", `name="from" value="users:1:main"`)
	s.has(s.send("transfer", preview, nil, http.StatusOK), "Movements", "20.00")
	filled.Set("from", "poe")
	s.has(s.send("transfer", form, filled, http.StatusUnprocessableEntity), `From: 2 accounts contain &#34;poe&#34;: users:1:main Ann Poe, users:3:main Cara Poe`)
	filled.Set("from", "jane") // an id comes before names
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/j2", `{"name":"jane"}`)
	s.ledger.Project()
	s.has(s.preview("transfer", filled), `name="from" value="jane"`)
}

// Account pages show what was just posted, before it is projected: balances, history, counterparties and running balances.
func TestAccountsBeforeProjection(t *testing.T) {
	l := system.New(t)
	s := siteOf(t, l, l.URL)
	s.ledger.OpenBooks()
	post := func(path, body string) { s.ledger.Must(http.StatusCreated, "POST", "/v1/"+path, body) }
	shows := func(posted, pending, available string, history ...string) {
		t.Helper()
		for _, query := range []string{"", "?asset=USD"} {
			page := s.get("accounts/shop"+query, http.StatusOK)
			s.has(page, `data-label="Posted"><strong>`+posted+"<", `data-label="Pending out">`+pending+"<", `data-label="Available">`+available+"<")
			s.has(section(page, "history-title"), history...)
		}
	}
	post("transfers", `{"id":"in","from":"bank","to":"shop","asset":"USD","quantity":"123456","description":"Deposit"}`)
	shows("1,234.56", "0.00", "1,234.56", "/in\"", "transfer · </span><bdi>Deposit", `accounts/bank"`, ">1,234.56<", `data-label="Balance">1,234.56<`)
	s.ledger.Project()
	post("transfers", `{"id":"card","from":"shop","to":"jane","asset":"USD","quantity":"8000","hold":{}}`)
	shows("1,234.56", "80.00", "1,154.56", "/card\"", `accounts/jane"`, "held", `data-label="Balance">1,234.56<`, "/in\"")
	s.ledger.Must(http.StatusOK, "POST", "/v1/transactions/card/capture", `{"quantity":"4550"}`)
	shows("1,189.06", "0.00", "1,189.06", "captured", ">-45.50<", `data-label="Balance">1,189.06<`, "held", `data-label="Balance">1,234.56<`, "/in\"")
	s.ledger.Project()
	shows("1,189.06", "0.00", "1,189.06", "captured", `data-label="Balance">1,189.06<`, "held", `data-label="Balance">1,234.56<`, "/in\"")
	s.lacks(s.get("accounts/shop", http.StatusOK), "Open holds")
	changes := section(s.get("accounts/shop", http.StatusOK), "changes-title")
	s.lacks(changes, "profile", "overdraft", "“”")
}

// An account page updates live. So do the balances.
func TestAccountPageUpdatesLive(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.fill()
	b.run(b.open("accounts/jane"))
	b.shows("100.00")
	b.do("transfer", values("from", "jane", "to", "shop", "asset", "USD", "quantity", "1.23"))
	b.poll(`document.querySelector("[data-part=balances]").innerText.includes("98.77")`)
	b.poll(`document.querySelector("[data-part=history]").innerText.includes("1.23")`)
}

// Forms have an own id, metadata, an effective date, several legs, and limits of an overdraft. Parts of legs can be
// captured and reversed.
func TestFieldsOfForms(t *testing.T) {
	s := newSite(t)
	s.people()
	day := time.Now().AddDate(0, 0, -3).UTC().Format(time.DateOnly)
	notes := url.Values{"id": {"own"}, "metadata": {"order=7\r\n a b = c=d "}, "effective_at": {day}}
	with := func(pairs ...string) url.Values {
		v := values(pairs...)
		for name, value := range notes {
			v[name] = value
		}
		return v
	}
	own := func(id string) { notes.Set("id", id) }
	page := s.do("transfer", with("from", "bank", "to", "jane", "asset", "USD", "quantity", "1"))
	s.has(page, "Transaction own", day+" 00:00:00", "<dt><bdi>a b</bdi></dt><dd><bdi>c=d", "<dt><bdi>order</bdi></dt><dd><bdi>7")
	own("of-a-zone")
	preview := s.preview("transfer?zone=Asia/Tokyo", with("from", "bank", "to", "jane", "asset", "USD", "quantity", "1"))
	s.has(s.send("transfer", preview, nil, http.StatusOK), "Transaction of-a-zone", "15:00:00")
	s.has(s.get("do/transfer?zone=Asia/Tokyo", http.StatusOK), "from its beginning in Asia/Tokyo")
	s.has(s.get("do/transfer", http.StatusOK), "from its beginning in UTC")
	s.get("do/transfer?zone=Local", http.StatusBadRequest)
	own("own-2")
	s.has(s.do("reverse?transaction=own", with("transaction", "own", "quantity", "0.25")), "Transaction own-2", "reverses", "0.25", "<bdi>order")
	legs := with("account-1", "bank", "asset-1", "USD", "quantity-1", "-3.00", "account-2", "jane", "asset-2", "USD", "quantity-2", "1.00",
		"account-4", "shop", "asset-4", "USD", "quantity-4", "2.00", "hold", "1 day")
	own("legs")
	legs.Del("effective_at") // not of a hold
	legs.Set("id", "legs")
	s.has(s.do("legs", legs), "Transaction legs", "held")
	part := values("quantity-1", "-1.50", "quantity-2", "1.00", "quantity-3", "0.50")
	preview = s.preview("capture?transaction=legs", part)
	s.has(preview, "-1.50", "1.00", "0.50")
	s.has(s.send("capture", preview, nil, http.StatusOK), "captured", "How the hold ended", "0.50")
	form := s.get("do/reverse?transaction=legs", http.StatusOK)
	s.has(form, `name="quantity-1" value="-1.50"`, `name="quantity-3" value="0.50"`)
	part = values("quantity-1", "-0.50", "quantity-2", "0", "quantity-3", "0.50")
	s.has(s.send("reverse", s.send("reverse", form, part, http.StatusOK), nil, http.StatusOK), "reversal", "-0.50")
	s.has(s.get("do/reverse?transaction=legs", http.StatusOK), `name="quantity-1" value="-1.00"`, `name="quantity-3" value="0.00"`)

	more := s.send("legs", s.get("do/legs?account-1=jane", http.StatusOK), values("account-1", "jane", "more", "yes"), http.StatusOK)
	s.has(more, `name="account-1" value="jane"`, `name="account-8"`)
	s.do("account", values("id", "margin", "name", "Margin", "limits", "1000.50 USD\n5 GOLD"))
	s.has(s.get("accounts/margin", http.StatusOK), "overdraft limit <bdi>5.000 GOLD", "overdraft limit <bdi>1,000.50 USD")
	s.has(s.do("change", values("account", "margin", "name", "Wide", "limits", "none")), "<h1>Wide</h1>", "name <bdi>“Wide”", "no overdraft")
	for _, c := range [][3]string{
		{"transfer", "metadata", "order"}, {"transfer", "effective_at", "yesterday"}, {"account", "limits", "5USD"}, {"legs", "quantity-1", "x"},
		{"account", "limits", "6 USD\n7 USD"},
	} {
		wrong := c[2][strings.LastIndex(c[2], "\n")+1:]
		filled := values(c[1], c[2], "id", "bad", "from", "jane", "to", "bank", "asset", "USD", "quantity", "1", "account-1", "jane", "asset-1", "USD")
		s.has(s.send(c[0], s.get("do/"+c[0], http.StatusOK), filled, http.StatusUnprocessableEntity), `role="alert"`, html.EscapeString(`"`+wrong+`"`))
	}
}

// The trial balance has all accounts, now or at the end of a day, with sums of zero. What is not settled is not shown
// unless asked for.
func TestTrialBalance(t *testing.T) {
	s := newSite(t)
	s.people()
	s.backdate("old", "USD", "2026-01-02T23:59:59.999999Z")
	s.ledger.Project()
	sum := regexp.MustCompile(`(?s)<td>Total of all accounts</td><td data-label="Asset"><a href="/console/assets/USD">USD</a></td>\s*<td class="number" data-label="Debits">([0-9.,]+)</td>` +
		`<td class="number" data-label="Credits">([0-9.,]+)</td>\s*<td class="number" data-label="Balance"><strong>0.00</strong>`)
	page := s.get("trial-balance", http.StatusOK)
	s.has(page, "newest settled time", "bank", "-0.01", "jane")
	s.lacks(page, "users:", "not settled") // posted just now
	page = s.get("trial-balance?at=now", http.StatusOK)
	s.has(page, "not settled", "bank", "users:<wbr>1:<wbr>main", "Ann Poe", "-50.00", "users:<wbr>2", "50.00")
	if found := sum.FindStringSubmatch(page); found == nil || found[1] != found[2] || found[1] == "0.00" {
		t.Errorf("%q: %s", found, page)
	}
	page = s.get("trial-balance?to=2026-01-02", http.StatusOK)
	s.has(page, "bank", "-0.01", "jane", "0.01", "Total", "0.01", "0.01", "0.00")
	s.lacks(page, "users:", "not settled")
	s.has(s.get("trial-balance?to=2026-01-01", http.StatusOK), "No postings")
	page = s.get("trial-balance?to=2026-01-02&zone=America/New_York", http.StatusOK) // ends at 5:00 UTC
	s.has(page, `name="zone" value="America/New_York"`, "Days are in America/New_York.", "As of", "2026-01-03 04:59:59", "Total")
	s.has(s.get("trial-balance?to=2026-01-02&zone=Asia/Tokyo", http.StatusOK), "No postings")
	s.get("trial-balance?to=2026-01-02&zone=Local", http.StatusBadRequest)
	page = s.get("trial-balance?at=now&prefix=users:", http.StatusOK)
	s.has(page, "need not be zero", "Ann Poe")
	s.lacks(page, `accounts/bank"`, `role="alert"`)
	s.get("trial-balance?to=x", http.StatusBadRequest)
	if strings.Contains(s.get("trial-balance?at=now&group=desk", http.StatusOK), "accounts/bank") {
		t.Error("the group has an account that is not in it")
	}
}
