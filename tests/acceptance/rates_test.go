package acceptance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/harness/caller"
)

// rates has limits over time: their definition, what is used of them, and the refusals of posts of each kind.
func rates(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	refuseAll(t, s, "rates.txt")
	zone := "Europe/Berlin"
	if in, err := time.LoadLocation(zone); err != nil || time.Now().In(in).Hour() == 23 {
		zone = "Asia/Tokyo" // where no day ends soon
	}
	day := `{"asset":"~USD","per":"day","zone":"` + zone + `","quantity":"50000"}`
	opening := s.Must(201, "PUT", "/v1/accounts/~ann", `{"rates":[`+day+`]}`)
	s.Must(200, "PUT", "/v1/accounts/~ann", string(opening.Body))
	isShown(t, opening.Value("rates"), "~USD day "+zone+" 50000")
	s.Must(201, "POST", "/v1/transfers", `{"from":"~bank","to":"~ann","asset":"~USD","quantity":"900000"}`)
	changedRates(t, s, day, zone)

	s.Must(201, "POST", "/v1/transfers", `{"id":"~r-1","from":"~ann","to":"~shop","asset":"~USD","quantity":"12000"}`)
	ends := isUsed(t, s, "12000 of 50000", "38000")
	const legs = `"postings":[{"account":"~ann","asset":"~USD","quantity":"-38001"},{"account":"~shop","asset":"~USD","quantity":"38001"}]`
	const body = `"from":"~ann","to":"~shop","asset":"~USD","quantity":"38001"`
	for path, body := range map[string]string{
		"/v1/transfers": `{` + body + `}`, "/v1/transfers?dry_run=true": `{` + body + `}`,
		"/v1/transactions": `{` + legs + `}`, "/v1/transactions?dry_run=true": `{` + legs + `,"hold":{}}`,
		"/v1/splits":  `{"from":"~ann","asset":"~USD","quantity":"38001","to":[{"account":"~shop","rest":1}]}`,
		"/v1/trades":  `{"asset":"~USD","buyer":"~shop","seller":"~ann","quantity":"38001","cost":"0"}`,
		"/v1/batches": `{"atomic":true,"requests":[{"transfer":{"id":"~b-0","from":"~bank","to":"~ann","asset":"~USD","quantity":"1"}},{"transfer":{"id":"~b-1",` + body + `}}]}`,
	} {
		isExceeded(t, s.Send("POST", path, body), zone, "12000", "38000", "38001", ends)
	}
	alone := s.Must(200, "POST", "/v1/batches", `{"requests":[{"transfer":{"id":"~b-2",`+body+`}},{"transfer":{"id":"~b-3",`+
		strings.Replace(body, "38001", "1000", 1)+`}}]}`)
	alone.Shows(t, map[string]any{"results 0 status": 422.0, "results 0 body code": "rate_exceeded",
		"results 0 body available": "38000", "results 1 status": 201.0})
	never := s.Send("POST", "/v1/transfers", `{"from":"~ann","to":"~shop","asset":"~USD","quantity":"50001"}`)
	isExceeded(t, never, zone, "13000", "37000", "50001", "")

	// A hold counts when it is placed, and gives back what it does not post. Reversals and refunds change nothing.
	s.Must(201, "POST", "/v1/transfers", `{"id":"~r-2","from":"~ann","to":"~shop","asset":"~USD","quantity":"30000","hold":{}}`)
	isUsed(t, s, "43000 of 50000", "7000")
	s.Must(200, "POST", "/v1/transactions/~r-2/capture", `{"quantity":"10000"}`)
	isUsed(t, s, "23000 of 50000", "27000")
	s.Must(201, "POST", "/v1/transactions/~r-1/reversals", `{"id":"~r-3"}`)
	isUsed(t, s, "23000 of 50000", "27000")
	fits := s.Must(201, "POST", "/v1/transfers", `{"id":"~r-4","from":"~ann","to":"~shop","asset":"~USD","up_to":"all"}`)
	hasLegs(t, fits, "postings", "~ann -27000, ~shop 27000")
	s.Must(200, "PATCH", "/v1/accounts/~ann", `{"rates":[`+strings.Replace(day, "50000", "40000", 1)+`]}`) // lowered
	isUsed(t, s, "50000 of 40000", "0")
	s.Must(200, "PATCH", "/v1/accounts/~ann", `{"rates":[]}`)
	s.Must(201, "POST", "/v1/transfers", `{"from":"~ann","to":"~shop","asset":"~USD","quantity":"60000"}`)
	if r := s.Must(200, "GET", "/v1/accounts/~ann/rates", ""); string(r.Body) != `{"data":[],"next_cursor":null}`+"\n" {
		t.Errorf("no rates: %s", r.Body)
	}
}

// changedRates replaces the limits over time of ~ann, and lists them by pages.
func changedRates(t *testing.T, s *caller.Caller, day, zone string) {
	t.Helper()
	all := `{"rates":[{"asset":"~USD","per":"week","quantity":"1"},{"asset":"~AAPL","per":"month","zone":"America/Sao_Paulo","quantity":"2"},` + day + `]}`
	changed := s.Must(200, "PATCH", "/v1/accounts/~ann", all, "If-Match", `"1"`)
	shown := "~AAPL month America/Sao_Paulo 2, ~USD day " + zone + " 50000, ~USD week UTC 1"
	isShown(t, changed.Value("rates"), shown)
	s.Must(200, "PATCH", "/v1/accounts/~ann", all).Shows(t, map[string]any{"version": 2.0})
	s.Must(412, "PATCH", "/v1/accounts/~ann", `{"rates":[]}`, "If-Match", `"1"`)
	isShown(t, s.Must(200, "GET", "/v1/accounts/~ann", "").Value("rates"), shown)
	caller.Eventually(t, timeToProject, "the account is listed", func() bool {
		return len(s.All("/v1/accounts?prefix=~ann", 5)) == 1
	})
	isShown(t, s.All("/v1/accounts?prefix=~ann", 5)[0]["rates"], shown)
	var listed []any
	for _, one := range s.All("/v1/accounts/~ann/rates", 1) {
		listed = append(listed, one)
	}
	isShown(t, listed, shown)
	s.Must(200, "PUT", "/v1/accounts/~ann", string(s.Must(200, "GET", "/v1/accounts/~ann", "").Body))
	s.Must(200, "PATCH", "/v1/accounts/~ann", `{"rates":[]}`)
	if is := s.Must(200, "GET", "/v1/accounts/~ann", "").Value("rates"); is != nil {
		t.Errorf("rates that were removed: %v", is)
	}
	s.Must(200, "PATCH", "/v1/accounts/~ann", `{"rates":[`+day+`]}`)
	changes := s.All("/v1/accounts/~ann/changes", 5)
	for i, want := range []string{"~USD day " + zone + " 50000", "", shown, "~USD day " + zone + " 50000"} {
		isShown(t, changes[i]["changed"].(map[string]any)["rates"], want)
	}
}

// isShown checks limits over time in an answer, in their order.
func isShown(t *testing.T, is any, want string) {
	t.Helper()
	var texts []string
	list, isList := is.([]any)
	for _, one := range list {
		r := one.(map[string]any)
		texts = append(texts, fmt.Sprintf("%v %v %v %v", r["asset"], r["per"], r["zone"], r["quantity"]))
	}
	if got := strings.Join(texts, ", "); got != want || !isList {
		t.Errorf("rates: %q, want %q", got, want)
	}
}

// isUsed checks what is used of the only limit over time of ~ann. It returns when it opens again.
func isUsed(t *testing.T, s *caller.Caller, used, available string) (opens string) {
	t.Helper()
	r := s.Must(200, "GET", "/v1/accounts/~ann/rates", "")
	r.Shows(t, map[string]any{"data 0 available": available})
	if got := r.Text("data", 0, "used") + " of " + r.Text("data", 0, "quantity"); got != used {
		t.Errorf("%s used, want %s", got, used)
	}
	return r.Text("data", 0, "opens_at")
}

// isExceeded checks a refusal by the limit over time of ~ann in a zone. It opens again at a midnight; never if opens is "".
func isExceeded(t *testing.T, r caller.Reply, zone, used, available, requested, opens string) {
	t.Helper()
	if r.Status != 422 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	r.Shows(t, map[string]any{"code": "rate_exceeded", "account": "~ann", "asset": "~USD", "per": "day", "zone": zone,
		"limit": "50000", "used": used, "available": available, "requested": requested})
	if opens == "" {
		if !strings.Contains(string(r.Body), `"opens_at":null`) {
			t.Errorf("it opens: %s", r.Body)
		}
		return
	}
	r.Shows(t, map[string]any{"opens_at": opens})
	in, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse("2006-01-02T15:04:05.000000Z", opens)
	if err != nil || at.In(in).Format("15:04:05.000000") != "00:00:00.000000" || time.Until(at) > 25*time.Hour {
		t.Errorf("it opens at %v", at.In(in))
	}
}
