package console

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
)

// placeHold places a hold from jane to shop and returns its id.
func (s *site) placeHold(quantity string) string {
	s.Helper()
	page := s.do("hold", values("from", "jane", "to", "shop", "asset", "USD", "quantity", quantity))
	return regexp.MustCompile(`do/capture\?transaction=([A-Za-z0-9]+)`).FindStringSubmatch(page)[1]
}

// transactionID returns the id of the transaction that a form posts.
func transactionID(form string) string {
	return regexp.MustCompile(`name="transaction_id" value="([^"]*)"`).FindStringSubmatch(form)[1]
}

// lacks fails the test if a page has one of the texts.
func (s *site) lacks(page string, texts ...string) {
	s.Helper()
	for _, text := range texts {
		if strings.Contains(page, text) {
			s.Errorf("the page has %q:\n%s", text, page)
		}
	}
}

// The preview of a form shows its effect: what a hold reserves, what a release gives back, and the part that a capture
// or a reversal posts.
func TestPreviews(t *testing.T) {
	s := newSite(t)
	s.fill()
	form := s.get("do/hold", http.StatusOK)
	preview := s.send("hold", form, values("from", "jane", "to", "shop", "asset", "USD", "quantity", "50.00"), http.StatusOK)
	opened, err := events.ParseKSUID(transactionID(form))
	if err != nil {
		t.Fatal(err)
	}
	s.has(preview, "What will be held", "The hold expires", opened.Time().AddDate(0, 0, 7).UTC().Format("2006-01-02 15:04:05"), ">jane<", ">50.00<",
		"What a full capture will post", ">-50.00<", ">50.00<")

	id := s.placeHold("50.00")
	preview = s.send("capture", s.get("do/capture?transaction="+id, http.StatusOK), values("quantity", "30.00"), http.StatusOK)
	s.has(preview, "What will be posted", ">-30.00<", ">30.00<")
	s.lacks(preview, "50.00")

	preview = s.send("release", s.get("do/release?transaction="+id, http.StatusOK), nil, http.StatusOK)
	s.has(preview, "What will be released", ">jane<", ">50.00<")
	s.lacks(preview, "What will be posted", "-50.00", ">shop<")

	s.send("capture", s.send("capture", s.get("do/capture?transaction="+id, http.StatusOK), values("quantity", "30.00"), http.StatusOK), nil, http.StatusOK)
	preview = s.send("reverse", s.get("do/reverse?transaction="+id, http.StatusOK), values("quantity", "1.00"), http.StatusOK)
	s.has(preview, "What the reversal will post", "shop", ">1.00<", "jane", ">1.00<", ">-1.00<")
}

// Blank fields and invalid numbers are refused before the preview, and the field is marked.
func TestInvalidFields(t *testing.T) {
	s := newSite(t)
	s.fill()
	form := s.get("do/asset", http.StatusOK)
	for _, scale := range []string{"abc", "02", "19", "-1", "1.5", "1e1"} {
		page := s.send("asset", form, values("id", "X", "name", "X", "scale", scale), http.StatusUnprocessableEntity)
		s.has(page, "Decimal places: must be a whole number from 0 to 18", `name="scale" value="`+scale+`"`, `aria-invalid="true"`)
	}
	for _, c := range []struct{ action, name, says string }{
		{"asset", "scale", "Decimal places: must not be blank"},
		{"asset", "name", "Name: must not be blank"},
		{"account", "id", "Id: must not be blank"},
		{"transfer", "quantity", "Quantity: must not be blank"},
		{"grant-account", "user", "User: must not be blank"},
	} {
		filled := values("id", "X", "name", "X", "scale", "2", "from", "jane", "to", "shop", "asset", "USD", "quantity", "1", "account", "jane", "user", "u-1")
		filled.Set(c.name, " \t\u00A0")
		page := s.send(c.action, s.get("do/"+c.action, http.StatusOK), filled, http.StatusUnprocessableEntity)
		s.has(page, c.says, `name="`+c.name+`"`, `aria-invalid="true"`)
		filled.Set("confirmed", "yes")
		s.send(c.action, page, filled, http.StatusUnprocessableEntity)
	}
	s.get("assets/X", http.StatusNotFound)
	s.has(s.do("asset", values("id", "X", "name", "X", "scale", "18")), "Asset X")
}

// A form previewed as one user is not sent as another user or without a user.
func TestFormIsBoundToUser(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.do("grant-account", values("account", "jane", "user", "u-1", "role", "operator"))
	s.do("grant-account", values("account", "shop", "user", "u-1", "role", "operator"))
	s.viewAs("u-1")
	filled := values("from", "jane", "to", "shop", "asset", "USD", "quantity", "1.00")
	preview := s.send("transfer", s.get("do/transfer", http.StatusOK), filled, http.StatusOK)
	s.viewAs("")
	refused := s.send("transfer", preview, nil, http.StatusUnprocessableEntity)
	s.has(refused, `role="alert"`, "opened as user u-1", "as the console itself", `value="jane"`)
	id := transactionID(preview)
	s.get("transactions/"+id, http.StatusNotFound)
	again := s.send("transfer", refused, filled, http.StatusOK)
	s.viewAs("u-1")
	s.has(s.send("transfer", again, nil, http.StatusUnprocessableEntity), "opened as the console itself", "as user u-1")
	s.has(s.send("transfer", preview, nil, http.StatusOK), "Movements")
}

// Forms of captures and reversals have only the fields that can select a part of the transaction. Their errors have the
// limit in decimals.
func TestPartialCaptureAndReversal(t *testing.T) {
	s := newSite(t)
	s.fill()
	const quantity, cost, unprocessable = `name="quantity"`, `name="cost"`, http.StatusUnprocessableEntity
	id := s.placeHold("40.00")
	form := s.get("do/capture?transaction="+id, http.StatusOK)
	s.has(form, quantity)
	s.lacks(form, cost)
	page := s.send("capture", form, values("quantity", "41"), unprocessable)
	s.has(page, "exceeds_hold", "Quantity: must not exceed 40.00 USD", `aria-invalid="true"`)
	s.lacks(page, "minor units", "4000")
	s.send("capture", s.send("capture", form, values("quantity", "39"), http.StatusOK), nil, http.StatusOK)
	page = s.send("reverse", s.get("do/reverse?transaction="+id, http.StatusOK), values("quantity", "40"), unprocessable)
	s.has(page, "exceeds_reversible", "Quantity: must not exceed 39.00 USD", `aria-invalid="true"`)
	s.lacks(page, "minor units", "3900", "cost -")

	s.do("asset", values("id", "AAPL", "name", "Apple", "scale", "0", "currency", "USD"))
	s.do("account", values("id", "market", "unlimited", "yes"))
	filled := values("asset", "AAPL", "buyer", "jane", "seller", "market", "quantity", "4", "cost", "20", "settle", "yes")
	s.has(s.do("trade", filled), `class="status posted"`)
	filled.Set("hold", "soon")
	s.has(s.send("trade", s.get("do/trade", http.StatusOK), filled, unprocessable), "must be one of")
	filled.Set("hold", "1 day")
	page = s.do("trade", filled)
	s.has(page, `class="status held"`, "quantity=4&amp;cost=20.00")
	form = s.get(link(page, "Capture"), http.StatusOK)
	s.has(form, quantity, cost)
	s.has(s.send("capture", form, values("cost", "3"), unprocessable),
		"Quantity: required with a cost", quantity, `aria-invalid="true"`, cost, `value="3"`)
	s.has(s.send("capture", form, values("quantity", "1", "cost", "21"), unprocessable), "Cost: must not exceed 20.00 USD", cost, `aria-invalid="true"`)
	page = s.send("capture", s.send("capture", form, values("quantity", "4", "cost", "20.00"), http.StatusOK), nil, http.StatusOK)
	s.has(page, "captured", "How the hold ended", "20.00")

	s.ledger.Must(http.StatusCreated, "POST", "/v1/transactions", `{"id":"legs","postings":[{"account":"bank","asset":"USD","quantity":"-3"},
		{"account":"jane","asset":"USD","quantity":"1"},{"account":"shop","asset":"USD","quantity":"2"}]}`)
	form = s.get("do/reverse?transaction=legs", http.StatusOK)
	s.lacks(form, quantity, cost)
	s.has(s.send("reverse", s.send("reverse", form, nil, http.StatusOK), nil, http.StatusOK), "reverses")
	page = s.send("reverse", s.get("do/reverse?transaction=legs", http.StatusOK), nil, unprocessable)
	s.has(page, `role="alert"`)
	s.lacks(page, "minor units", "cost -")
	s.get("do/reverse?transaction=none", http.StatusNotFound)
}

// A hold form that is sent after the hold would expire is refused, with a link to a new form with the same values.
func TestExpiredForm(t *testing.T) {
	s := newSite(t)
	s.fill()
	old, err := events.NewMinter(nil, nil).MintAt(time.Now().Add(-2*time.Hour), 1)
	if err != nil {
		t.Fatal(err)
	}
	filled := values("from", "jane", "to", "shop", "asset", "USD", "quantity", "5.00", "hold", "1 hour", "transaction_id", string(old[0]))
	page := s.send("hold", s.get("do/hold", http.StatusOK), filled, http.StatusUnprocessableEntity)
	s.has(page, "this form has expired", "open it again")
	s.lacks(page, "expires_at")
	link := regexp.MustCompile(`/console/(do/hold\?[^"]*)">open it again`).FindStringSubmatch(page)[1]
	form := s.get(html.UnescapeString(link), http.StatusOK)
	s.has(form, `value="jane"`, `value="5.00"`, "<option selected>1 hour")
	filled.Del("transaction_id")
	s.has(s.send("hold", s.send("hold", form, filled, http.StatusOK), nil, http.StatusOK), "The hold expires")
}

// Forms place a hold for a term and capture it. A form that is sent twice places one hold.
func TestHoldByForms(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.has(s.get("", http.StatusOK), `href="/console/do/hold"`)
	s.has(s.get("accounts/jane", http.StatusOK), "do/hold?from=jane")
	form := s.get("do/hold?from=jane", http.StatusOK)
	filled := values("to", "shop", "asset", "USD", "quantity", "50.00", "hold", "forever", "from", "jane")
	s.has(s.send("hold", form, filled, http.StatusUnprocessableEntity), "must be one of 1 hour")
	filled.Set("hold", "no")
	s.has(s.send("hold", form, filled, http.StatusUnprocessableEntity), "must be one of 1 hour")
	filled.Set("hold", "30 days")
	filled.Set("quantity", "100.01")
	s.has(s.send("hold", form, filled, http.StatusUnprocessableEntity), "insufficient_funds", "<option selected>30 days</option>")
	filled.Set("quantity", "50.00")
	preview := s.send("hold", form, filled, http.StatusOK)
	s.has(preview, "What will be held", "50.00", "30 days", ">Hold</button>")
	first, second := s.post("hold", preview, nil), s.post("hold", preview, nil)
	if first.Request.URL.Path != second.Request.URL.Path {
		t.Errorf("%s and %s were posted", first.Request.URL, second.Request.URL)
	}
	page := s.read(first, http.StatusOK)
	s.read(second, http.StatusOK)
	s.has(page, "held", "The hold expires")
	opened, err := events.ParseKSUID(transactionID(form))
	if err != nil {
		t.Fatal(err)
	}
	s.has(page, "<time datetime=\""+opened.Time().AddDate(0, 0, 30).Format("2006-01-02T15:04:05.000000Z"))
	capture := regexp.MustCompile(`/console/(do/capture[^"]*)"`).FindStringSubmatch(page)[1]
	form = s.get(strings.ReplaceAll(capture, "&amp;", "&"), http.StatusOK)
	s.has(form, `name="quantity" value="50.00"`)
	preview = s.send("capture", form, values("quantity", "50.00"), http.StatusOK)
	s.has(s.send("capture", preview, nil, http.StatusOK), "captured")
}
