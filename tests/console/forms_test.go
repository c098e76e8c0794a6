package console

import (
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/desk/console"
)

// transactionID returns the id of the transaction that a form posts.
func transactionID(form string) string {
	return regexp.MustCompile(`name="transaction_id" value="([^"]*)"`).FindStringSubmatch(form)[1]
}

// preview fills in and sends the form of an action, with a query or none, and returns its preview.
func (s *site) preview(action string, filled url.Values) string {
	s.Helper()
	name, _, _ := strings.Cut(action, "?")
	return s.send(name, s.get("do/"+action, http.StatusOK), filled, http.StatusOK)
}

// holds opens books and places the hold h-1 of 40 USD and the hold d-2 of 4 AAPL for 20 USD. It posts legs, which has
// three postings.
func (s *site) holds() {
	s.Helper()
	s.ledger.OpenBooks()
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"h-1","from":"jane","to":"shop","asset":"USD","quantity":"4000","hold":{}}`)
	s.ledger.Must(http.StatusCreated, "POST", "/v1/trades",
		`{"id":"d-2","asset":"AAPL","buyer":"jane","seller":"market","quantity":"4","cost":"2000","settle":true,"hold":{}}`)
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transactions", `{"id":"legs","postings":[{"account":"bank","asset":"USD","quantity":"-3"},
		{"account":"jane","asset":"USD","quantity":"1"},{"account":"shop","asset":"USD","quantity":"2"}]}`)
}

// A form that the console or the API refuses says why, with labels and decimals. It keeps its values, and marks the
// field that is wrong. What can be known before is refused before the preview; the rest when it is confirmed.
func TestRefusedForms(t *testing.T) {
	s := newSite(t)
	s.holds()
	for _, request := range []string{"PUT accounts/cold {}", `PATCH accounts/cold {"state":"frozen"}`, `PUT assets/TENTH {"name":"Tenths","scale":1}`,
		`PUT groups/desk {"name":"Front desk"}`, `POST transactions/legs/reversals {"id":"back"}`,
		`POST transfers {"id":"h-2","from":"jane","to":"shop","asset":"USD","quantity":"4000","hold":{}}`, `POST transactions/h-2/capture {"quantity":"3900"}`} {
		part := strings.SplitN(request, " ", 3)
		if r := s.ledger.Send(part[0], "/v1/"+part[1], part[2]); r.Status >= 300 {
			t.Fatalf("%s: %s", request, r.Body)
		}
	}
	for i := range 10 {
		id := "g-" + string(rune('0'+i))
		s.ledger.Must(http.StatusCreated, "PUT", "/v1/groups/"+id, `{}`)
		s.ledger.Must(http.StatusCreated, "PUT", "/v1/groups/"+id+"/accounts/jane", "")
	}
	const before, confirmed = false, true
	for _, c := range []struct {
		action, filled string
		confirmed      bool
		marked         string // the field; "" for none
		says           string
	}{
		{"transfer", "from=jane&to=shop&asset=USD&quantity=9999999.01", before, "quantity", "not enough available*jane (Jane Doe) has *USD available, and 9,999,999.01 USD were asked for"},
		{"transfer", "from=jane&to=shop&asset=USD&quantity=1.001", before, "quantity", "decimal places"},
		{"transfer", "from=jane&to=shop&asset=TENTH&quantity=1.25", before, "quantity", "2 decimal places"},
		{"transfer", "from=jane&to=shop&asset=USD&quantity=%20%09%C2%A0", before, "quantity", "Quantity: must not be blank"},
		{"transfer", "from=jane&to=nobody&asset=USD&quantity=1", before, "to", "no such account*To: must be the id of"},
		{"transfer", "from=cold&to=shop&asset=USD&quantity=1", before, "from", "account is frozen*From: "},
		{"transfer", "from=jane&to=jane&asset=USD&quantity=1", before, "from", "From: must differ from “To”"},
		{"transfer", "from=jane&to=shop&asset=a+b&quantity=1", before, "asset", "Asset: &#34;a b&#34; is not an id"},
		{"transfer", "from=a+b&to=shop&asset=USD&quantity=1", before, "from", "Some entries are wrong or missing.\n  From: "},
		{"hold", "from=jane&to=shop&asset=USD&quantity=1&hold=forever", before, "", "must be one of 1 hour"},
		{"hold", "from=jane&to=shop&asset=USD&quantity=1&hold=no", before, "", "must be one of 1 hour"},
		{"hold", "from=jane&to=shop&asset=USD&quantity=9999999.01&hold=30+days", before, "quantity", "<option selected>30 days</option>"},
		{"trade", "asset=AAPL&buyer=jane&seller=market&quantity=4&cost=20&hold=soon", before, "", "must be one of"},
		{"capture", "transaction=h-1&quantity=41", before, "quantity", "more than the hold has*Quantity: must not exceed 40.00 USD"},
		{"capture", "transaction=d-2&cost=3", before, "quantity", "Quantity: required with a cost"},
		{"capture", "transaction=d-2&quantity=1", before, "cost", "needs its cost*Cost: is required"},
		{"capture", "transaction=d-2&quantity=1&cost=21", before, "cost", "Cost: must not exceed 20.00 USD"},
		{"reverse", "transaction=h-2&quantity=40", before, "quantity", "more than is left*jane: 39.00 USD are left*Quantity: must not exceed 39.00 USD"},
		{"reverse", "transaction=legs", before, "", "more than is left*bank: 0.00 USD are left"},
		{"asset", "id=X&name=&scale=2", before, "name", "Name: must not be blank"},
		{"asset", "id=X&name=X&scale=", before, "scale", "Decimal places: must not be blank"},
		{"asset", "id=X&name=X&scale=abc", before, "scale", "Decimal places: must be a whole number from 0 to 18"},
		{"asset", "id=X&name=X&scale=02", before, "scale", "must be a whole number"},
		{"asset", "id=X&name=X&scale=19", before, "scale", "must be a whole number"},
		{"asset", "id=X&name=X&scale=-1", before, "scale", "must be a whole number"},
		{"asset", "id=X&name=X&scale=1.5", before, "scale", "must be a whole number"},
		{"asset", "id=X&name=X&scale=1e1", before, "scale", "must be a whole number"},
		{"account", "id=&name=X", before, "id", "Id: must not be blank"},
		{"account", "id=a/b&name=X", confirmed, "id", "an id has 1 to 64 characters"},
		{"account", "id=jane&name=Another", confirmed, "name", "an account with this id already*Name: "},
		{"asset", "id=a+b&name=X&scale=2", confirmed, "id", "an id has 1 to 64 characters"},
		{"asset", "id=USD&name=US+dollar&scale=3", confirmed, "scale", "an asset with this id already"},
		{"asset", "id=X&name=X&scale=2&currency=none", confirmed, "currency", "none"},
		{"legs", "account-2=jane&asset-2=USD&quantity-2=1&account-3=nobody&asset-3=USD&quantity-3=-1", before, "account-3", "no such account*Account of leg 3: must be"},
		{"legs", "account-1=jane&asset-1=USD&quantity-1=1&account-2=bank&asset-2=USD&quantity-2=-2", before, "", "do not balance*Legs: the quantities of USD must sum to 0, not to -1.00"},
		{"legs", "account-1=jane&asset-1=NONE&quantity-1=1", before, "asset-1", "no such asset*asset “NONE”"},
		{"state", "account=nobody&state=frozen", confirmed, "", "no such account"},
		{"group", "id=desk&name=Back+office", confirmed, "name", "a group with this id already"},
		{"group", "id=a/b", confirmed, "id", "is not an id"},
		{"group", "id=x&name=" + strings.Repeat("x", 257), confirmed, "name", "name"},
		{"group-add", "group=none&account=jane", confirmed, "group", "no such group"},
		{"group-add", "group=desk&account=nobody", confirmed, "account", "no such account"},
		{"group-add", "group=desk&account=jane", confirmed, "", "in as many groups as it can be"},
		{"group-remove", "group=none&account=jane", confirmed, "group", "no such group"},
		{"grant-account", "account=nobody&user=u-1&role=viewer", confirmed, "account", "no such account"},
		{"grant-account", "account=jane&user=u+1&role=viewer", confirmed, "user", "is not an id"},
		{"grant-account", "account=jane&user=u-1&role=king", before, "", "Role: must be one of viewer, operator, owner"},
		{"grant-account", "account=jane&user=&role=viewer", before, "user", "User: must not be blank"},
		{"grant-group", "group=none&user=u-1&role=viewer", confirmed, "group", "no such group"},
		{"revoke-account", "account=nobody&user=u-1", confirmed, "account", "no such account"},
		{"revoke-group", "group=none&user=u-1", confirmed, "group", "no such group"},
	} {
		filled, err := url.ParseQuery(c.filled)
		if err != nil {
			t.Fatal(err)
		}
		page := s.get("do/"+c.action+"?"+c.filled, http.StatusOK)
		if c.confirmed {
			page = s.send(c.action, page, filled, http.StatusOK)
		} else {
			page = s.send(c.action, page, filled, http.StatusUnprocessableEntity)
			s.shows(page, `role="alert"`, c.says)
		}
		filled.Set("confirmed", "yes")
		page = s.send(c.action, page, filled, http.StatusUnprocessableEntity)
		s.shows(page, `role="alert"`, c.says)
		s.lacks(page, "minor units", "cost -", "see errors")
		if code := regexp.MustCompile(`id="fault"[^>]*>[^<]*([a-z]+_[a-z_]+)`).FindStringSubmatch(page); code != nil {
			t.Errorf("%s %s: the refusal has the code or the member %q", c.action, c.filled, code[1])
		}
		for name, given := range filled {
			if marked := regexp.MustCompile(` name="` + name + `"[^>]*aria-invalid="true"`).MatchString(page); marked != (name == c.marked) {
				t.Errorf("%s %s: %s is marked: %t", c.action, c.filled, name, marked)
			}
			if value := ` value="` + html.EscapeString(strings.TrimSpace(given[0])) + `"`; name != "role" && name != "hold" && name != "state" && name != "confirmed" {
				s.shows(page, ` name="`+name+`"`+value)
			}
		}
	}
	s.get("assets/X", http.StatusNotFound)
	s.has(s.do("asset", values("id", "X", "name", "X", "scale", "18")), "Asset X")
	s.get("do/reverse?transaction=none", http.StatusNotFound)
}

// Every refusal that the API declares has a sentence, in words.
func TestEveryRefusalHasItsSentence(t *testing.T) {
	text, err := os.ReadFile("../../functions/api/problems.json")
	var all []struct{ Code string }
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all) < 30 {
		t.Fatalf("%d codes: %v", len(all), err)
	}
	for _, problem := range all {
		sentence, ok := console.Sentence(problem.Code)
		if !ok || strings.Contains(sentence, "_") || !strings.HasSuffix(sentence, ".") {
			t.Errorf("the sentence of %s is %q", problem.Code, sentence)
		}
	}
}

// shows is has for texts that are separated by stars.
func (s *site) shows(page string, texts ...string) {
	s.Helper()
	s.has(page, strings.Split(strings.Join(texts, "*"), "*")...)
}

// Forms of captures and reversals have only the fields that can select a part of the transaction.
func TestFieldsOfParts(t *testing.T) {
	s := newSite(t)
	s.holds()
	for form, fields := range map[string]string{"capture?transaction=h-1": "quantity", "capture?transaction=d-2": "quantity cost", "reverse?transaction=legs": "quantity"} {
		page := s.get("do/"+form, http.StatusOK)
		for _, name := range []string{"quantity", "cost"} {
			if has := strings.Contains(page, ` name="`+name+`"`); has != strings.Contains(fields, name) {
				t.Errorf("%s has the field %s: %t", form, name, has)
			}
		}
	}
	preview := s.preview("capture?transaction=d-2", values("quantity", "4", "cost", "20.00"))
	s.has(s.send("capture", preview, nil, http.StatusOK), "captured", "How the hold ended", "20.00")
	s.has(s.send("reverse", s.preview("reverse?transaction=legs", nil), nil, http.StatusOK), "reverses")
}

// The preview of a form shows its effect: what a hold reserves, what a release gives back, and the part that a capture
// or a reversal posts.
func TestPreviews(t *testing.T) {
	s := newSite(t)
	s.holds()
	form := s.get("do/hold", http.StatusOK)
	opened, err := events.ParseKSUID(transactionID(form))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		page, filled string
		has, lacks   []string
	}{
		{"hold", "from=jane&to=shop&asset=USD&quantity=50.00&transaction_id=" + string(opened),
			[]string{"What will be held", "The hold expires", opened.Time().AddDate(0, 0, 7).UTC().Format("2006-01-02 15:04:05"), ">jane<", ">-50.00<",
				">3,500.01<", ">3,500.01<", ">3,440.01<", ">3,390.01<", ">50.00<", ">0.02<", ">0.02<", ">0.02<", ">0.02<"}, nil},
		{"capture?transaction=h-1", "quantity=30.00", []string{"What will be posted", ">-30.00<", ">3,450.01<", ">30.00<"}, []string{"40.00"}},
		{"release?transaction=h-1", "", []string{"What will be released", ">jane<", ">40.00<"}, []string{"What will be posted", "-40.00", ">shop<"}},
		{"reverse?transaction=legs", "", []string{"What the reversal will post", "bank", ">0.03<", "jane", ">-0.01<"}, nil},
	} {
		filled, _ := url.ParseQuery(c.filled)
		preview := s.preview(c.page, filled)
		s.has(preview, c.has...)
		s.lacks(preview, c.lacks...)
	}
}

// A form previewed as one user is not sent as another user or without a user.
func TestFormIsBoundToUser(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.do("grant-account", values("account", "jane", "user", "u-1", "role", "operator"))
	s.do("grant-account", values("account", "shop", "user", "u-1", "role", "operator"))
	s.viewAs("u-1")
	filled := values("from", "jane", "to", "shop", "asset", "USD", "quantity", "1.00")
	preview := s.preview("transfer", filled)
	s.viewAs("")
	refused := s.send("transfer", preview, nil, http.StatusUnprocessableEntity)
	s.has(refused, `role="alert"`, "opened as user u-1", "as the console itself", `value="jane"`)
	s.get("transactions/"+transactionID(preview), http.StatusNotFound)
	again := s.send("transfer", refused, filled, http.StatusOK)
	s.viewAs("u-1")
	s.has(s.send("transfer", again, nil, http.StatusUnprocessableEntity), "opened as the console itself", "as user u-1")
	s.has(s.send("transfer", preview, nil, http.StatusOK), "Movements")
}

// If the outcome of a form is unknown, the page says so. The form can be sent again, and posts once.
func TestUnknownOutcome(t *testing.T) {
	s, f := newProxied(t)
	s.fill()
	preview := s.preview("transfer", values("from", "jane", "to", "shop", "asset", "USD", "quantity", "1"))
	status := http.StatusBadGateway
	f.set("/v1/transfers", func(w http.ResponseWriter, r *http.Request) { // the answer is lost, and the retry proves nothing
		f.ledger.ServeHTTP(httptest.NewRecorder(), r)
		w.WriteHeader(status)
		status = http.StatusBadRequest
	})
	page := s.send("transfer", preview, nil, http.StatusUnprocessableEntity)
	s.has(page, `role="alert"`, "The outcome is unknown. Send the form again", `name="confirmed"`, ">Post</button>")
	f.set("/v1/transfers", nil)
	s.has(s.send("transfer", page, nil, http.StatusOK), "Transaction "+transactionID(preview), "Movements")
	s.eventually("accounts/jane", "<strong>99.00</strong>")
}

// A hold form that is sent after the hold would expire is refused, with a link to a new form with the same values.
func TestExpiredForm(t *testing.T) {
	s := newSite(t)
	s.fill()
	old, err := events.NewMinter(nil, nil).MintAt(time.Now().Add(-2*time.Hour), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	filled := values("from", "jane", "to", "shop", "asset", "USD", "quantity", "5.00", "hold", "1 hour", "transaction_id", string(old[0]))
	page := s.send("hold", s.get("do/hold", http.StatusOK), filled, http.StatusUnprocessableEntity)
	s.has(page, "this form has expired", "open it again")
	s.lacks(page, "expires_at")
	again := regexp.MustCompile(`/console/do/(hold\?[^"]*)">open it again`).FindStringSubmatch(page)[1]
	s.has(s.get("do/"+html.UnescapeString(again), http.StatusOK), `value="jane"`, `value="5.00"`, "<option selected>1 hour")
	filled.Del("transaction_id")
	s.has(s.send("hold", s.preview(html.UnescapeString(again), filled), nil, http.StatusOK), "The hold expires")
}

// A form that is sent twice posts once. Its hold is for the chosen term from when it was opened. A trade can be held, and
// the links to capture have the full amounts.
func TestHoldByForms(t *testing.T) {
	s := newSite(t)
	s.ledger.OpenBooks()
	s.has(s.get("accounts/jane", http.StatusOK), "do/hold?from=jane")
	form := s.get("do/hold?from=jane", http.StatusOK)
	preview := s.send("hold", form, values("to", "shop", "asset", "USD", "quantity", "50.00", "hold", "30 days", "from", "jane"), http.StatusOK)
	s.has(preview, "What will be held", "50.00", "30 days", ">Hold</button>")
	first, second := s.post("hold", preview, nil), s.post("hold", preview, nil)
	if first.Request.URL.Path != second.Request.URL.Path {
		t.Errorf("%s and %s were posted", first.Request.URL, second.Request.URL)
	}
	page := s.read(first, http.StatusOK)
	s.read(second, http.StatusOK)
	opened, err := events.ParseKSUID(transactionID(form))
	if err != nil {
		t.Fatal(err)
	}
	s.has(page, "held", "The hold expires", `<time datetime="`+opened.Time().AddDate(0, 0, 30).Format("2006-01-02T15:04:05.000000Z"))
	form = s.get(link(page, "Capture"), http.StatusOK)
	s.has(form, `name="quantity" value="50.00"`)
	s.has(s.send("capture", s.send("capture", form, nil, http.StatusOK), nil, http.StatusOK), "captured")

	filled := values("asset", "AAPL", "buyer", "jane", "seller", "market", "quantity", "4", "cost", "20", "settle", "yes")
	s.has(s.do("trade", filled), `class="status posted"`)
	filled.Set("hold", "1 day")
	s.has(s.do("trade", filled), `class="status held"`, "quantity=4&amp;cost=20.00")
}

// A reversal and what it reverses link to each other. The form shows what was posted, reversed and left, and is filled in
// with what is left; it asks for that, and not for what is left when it is sent.
func TestReversalsAreLinked(t *testing.T) {
	s := newSite(t)
	s.holds()
	for _, request := range []string{`PUT accounts/ann {"name":"Ann"}`, `POST transfers {"id":"pay","from":"jane","to":"shop","asset":"USD","quantity":"20000","description":"Shoes"}`,
		`POST transactions/pay/reversals {"id":"back-1","quantity":"5000"}`, `POST transactions/pay/reversals {"id":"back-2","quantity":"2500"}`,
		`POST trades {"id":"deal","asset":"AAPL","buyer":"jane","seller":"market","quantity":"4","cost":"2000"}`,
		`POST transactions/deal/reversals {"id":"deal-back","quantity":"1","cost":"500"}`} {
		part := strings.SplitN(request, " ", 3)
		if r := s.ledger.Send(part[0], "/v1/"+part[1], part[2]); r.Status >= 300 {
			t.Fatalf("%s: %s", request, r.Body)
		}
	}
	page := s.eventually("transactions/pay", "back-2")
	s.has(page, "/console/do/reverse?transaction=pay", "Reversals</h2>", "-200.00", "-75.00", "<strong>-125.00", "Reversed by",
		`href="/console/transactions/back-1"`, `href="/console/transactions/back-2"`)
	s.has(s.get("transactions/back-1", http.StatusOK), `reverses <a href="/console/transactions/pay">`)
	form := s.get("do/reverse?transaction=pay", http.StatusOK)
	s.has(form, "What it reverses", `href="/console/transactions/pay"`, "Shoes", "-200.00", "-75.00", "-125.00", `name="quantity" value="125.00"`)
	preview := s.send("reverse", form, values("quantity", "125.00"), http.StatusOK)
	s.has(preview, "What the reversal will post", "125.00")
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transactions/pay/reversals", `{"id":"back-3","quantity":"1"}`)
	refused := s.send("reverse", preview, nil, http.StatusUnprocessableEntity)
	s.has(refused, "more than is left to reverse", "124.99 USD are left")
	s.has(s.do("reverse?transaction=pay", values("transaction", "pay", "quantity", "124.99")), "reverses")
	s.has(s.get("do/reverse?transaction=pay", http.StatusOK), "<strong>0.00", "Nothing is left to reverse")
	s.lacks(s.get("transactions/pay", http.StatusOK), "/console/do/reverse")
	form = s.get("do/reverse?transaction=deal", http.StatusOK)
	s.has(form, "Cost left", "<strong>3</strong>", "15.00 USD", `name="quantity" value="3"`, `name="cost" value="15.00"`)
	s.has(s.send("reverse", s.send("reverse", form, values("quantity", "3", "cost", "15.00"), http.StatusOK), nil, http.StatusOK), "reverses")
	s.lacks(s.get("do/capture?transaction=h-1", http.StatusOK), "What it reverses")
	s.has(s.get("do/capture?transaction=h-1", http.StatusOK), `name="quantity" value="40.00"`)
}

// The form of a split shows who gets what before it is posted, and says what is wrong.
func TestSplitForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ledger.OpenBooks()
	filled := values("from", "bank", "asset", "USD", "quantity", "100.00", "to", "jane=2.9%+0.30\nmarket=19/119\n\nshop=rest")
	form := s.get("do/split?from=bank", http.StatusOK)
	preview := s.send("split", form, filled, http.StatusOK)
	s.has(preview, "What will be posted", "-100.00", "3.20", "15.97", "80.83", ">Post</button>")
	filled.Set("hold", "1 day")
	s.has(s.send("split", form, filled, http.StatusOK), "What will be held", "80.83")
	filled.Del("hold")
	s.has(s.do("split", filled), `class="status posted"`, "80.83")
	for to, says := range map[string]string{
		"":                   "Who gets what: must not be blank",
		"jane":               "Who gets what: &#34;jane&#34; is not an account and what it gets, such as shop=rest",
		"jane=x":             "Who gets what: &#34;x&#34; is not",
		"jane=50%":           "Who gets what: must take the whole quantity, or have a rest; left: 50.00",
		"jane=60%\nshop=60%": "Who gets what: must not take more than the quantity; too much: 20.00",
		"jane=101%":          "Who gets what, no. 1: must be above zero and at most all",
		"nobody=rest":        "Who gets what, no. 1: must be the id of an existing account",
	} {
		filled.Set("to", to)
		page := s.send("split", form, filled, http.StatusUnprocessableEntity)
		s.shows(page, `role="alert"`, says)
		if !regexp.MustCompile(` name="to"[^>]*aria-invalid="true"`).MatchString(page) {
			t.Errorf("%q: the field is not marked", to)
		}
	}
}

// The form of as much as fits shows how much that would be now. What is posted is decided then.
func TestSweepForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ledger.OpenBooks()
	s.ledger.Must(201, "POST", "/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"10000"}`)
	filled := values("from", "jane", "to", "shop", "asset", "USD", "keep", "20.00")
	form := s.get("do/sweep?from=jane", http.StatusOK)
	s.has(form, `name="up_to" value="all"`)
	preview := s.send("sweep", form, filled, http.StatusOK)
	s.has(preview, "What will be posted", "-3,580.00", ">Post</button>")
	s.ledger.Must(201, "POST", "/v1/transfers", `{"from":"jane","to":"bank","asset":"USD","quantity":"1000"}`)
	s.has(s.send("sweep", preview, nil, http.StatusOK), `class="status posted"`, "-3,570.00")
	for of, says := range map[string]string{
		"up_to":    "At most: &#34;x&#34; is not",
		"at_least": "At least: &#34;x&#34; is not",
		"keep":     "Keep: &#34;x&#34; is not",
	} {
		wrong := values("from", "jane", "to", "shop", "asset", "USD", of, "x")
		s.shows(s.send("sweep", form, wrong, http.StatusUnprocessableEntity), `role="alert"`, says)
	}
	none := values("from", "jane", "to", "shop", "asset", "USD", "up_to", "50.00", "keep", "15.00", "at_least", "10.00")
	s.shows(s.send("sweep", form, none, http.StatusUnprocessableEntity), `role="alert"`, "5.00", "10.00")
}

// The form of a split of as much as fits takes several accounts, and shows what each would give now.
func TestCollectForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ledger.OpenBooks()
	s.ledger.Must(201, "POST", "/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"3000"}`)
	s.ledger.Must(201, "POST", "/v1/transfers", `{"from":"bank","to":"shop","asset":"USD","quantity":"9000"}`)
	before := s.ledger.Must(200, "GET", "/v1/accounts/~jane/balances/~USD?consistency=strong", "").Text("available")
	filled := values("from", "jane\n\nshop 20.00\n", "asset", "USD", "to", "market=1%\nbank=rest")
	form := s.get("do/collect?from=jane", http.StatusOK)
	s.has(form, ">jane</textarea>", `name="up_to" value="all"`)
	preview := s.send("collect", form, filled, http.StatusOK)
	s.has(preview, "What will be posted", "-"+shown(before), ">Post</button>")
	s.has(s.send("collect", preview, nil, http.StatusOK), `class="status posted"`, "-"+shown(before))
	for of, says := range map[string]string{
		"from=":                   "From: must not be blank",
		"from=jane x":             "From: &#34;x&#34; is not",
		"from=jane\nnobody":       "From, no. 2: must be the id of an existing account",
		"from=shop\nshop":         "From, no. 2: must differ from “From, no. 1”",
		"to=bank=50%":             "Who gets what: must have a rest",
		"up_to=x":                 "At most: &#34;x&#34; is not",
		"to=bank=9999\nbank=rest": "shop (Shop) has 20.00 USD available, and 9,999.00 USD were asked for",
	} {
		name, value, _ := strings.Cut(of, "=")
		wrong := values("from", "shop", "asset", "USD", "to", "bank=rest", name, value)
		s.shows(s.send("collect", s.get("do/collect", http.StatusOK), wrong, http.StatusUnprocessableEntity), `role="alert"`, says)
	}
}

// shown returns an amount of cents as people read it.
func shown(cents string) string {
	whole := cents[:len(cents)-2]
	if n := len(whole); n > 3 {
		whole = whole[:n-3] + "," + whole[n-3:]
	}
	return whole + "." + cents[len(cents)-2:]
}

// A part of a transaction of one asset is entered as one quantity, or for each posting.
func TestPartOfBothSides(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ledger.OpenBooks()
	s.ledger.Must(201, "POST", "/v1/splits", `{"id":"o-1","asset":"USD","quantity":"10000","from":"bank","to":[{"account":"jane","rest":1},{"account":"shop","rest":1},{"account":"market","rest":1}]}`)
	form := s.get("do/reverse?transaction=o-1", http.StatusOK)
	s.has(form, `name="quantity-4" value="33.33"`, "of each side, in proportion")
	s.shows(s.send("reverse", form, values("transaction", "o-1", "quantity", "100.01"), http.StatusUnprocessableEntity), `role="alert"`, "Quantity: must not exceed 100.00")
	both := values("transaction", "o-1", "quantity", "1", "quantity-4", "1")
	s.shows(s.send("reverse", form, both, http.StatusUnprocessableEntity), `role="alert"`, "must be blank if not all of a posting is taken")
	s.has(s.do("reverse?transaction=o-1", values("transaction", "o-1", "quantity", "50", "quantity-1", "-100", "quantity-2", "33.34", "quantity-3", "33.33", "quantity-4", "33.33")), "-16.67", "-16.66")
}
