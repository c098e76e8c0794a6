package console

import (
	"net/http"
	"regexp"
	"testing"
	"time"
)

// The forms of an account set its limits over time. Its page shows how much of each is used, in words beside a bar, and
// its changes show them. A refusal says what is left, and when the limit opens again.
func TestLimitsOverTime(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ledger.OpenBooks()
	zone := "Europe/Berlin"
	if in, err := time.LoadLocation(zone); err != nil || time.Now().In(in).Hour() == 23 {
		zone = "Asia/Tokyo" // where no day ends soon
	}
	s.do("account", values("id", "ann", "rates", "USD:500.00/day@"+zone+"\n\nUSD:2000/month"))
	s.ledger.Must(201, "POST", "/v1/transfers", `{"from":"bank","to":"ann","asset":"USD","quantity":"500000"}`)
	s.ledger.Must(201, "POST", "/v1/transfers", `{"from":"ann","to":"shop","asset":"USD","quantity":"12000"}`)
	page := s.get("accounts/ann", http.StatusOK)
	s.shows(section(page, "rates-title"), "<strong>120.00</strong> of 500.00 USD used this day*", `value="24"*380.00 left; opens again*00:00 `+zone,
		"<strong>120.00</strong> of 2,000.00 USD used this month*", `value="6"*1,880.00 left*00:00 UTC`)
	s.shows(section(page, "changes-title"), "limit over time*500.00 USD a day ("+zone+")*2,000.00 USD a month (UTC)")
	s.lacks(s.get("accounts/shop", http.StatusOK), "Limits over time")

	filled := values("from", "ann", "to", "shop", "asset", "USD", "quantity", "381.00")
	refused := s.send("transfer", s.get("do/transfer", http.StatusOK), filled, http.StatusUnprocessableEntity)
	s.shows(refused, `role="alert"`, "more than the account may debit*ann may debit 500.00 USD a day ("+zone+
		"): 120.00 USD are used, 380.00 USD are left, and 381.00 USD were asked for*opens again at *00:00 "+zone)
	if !regexp.MustCompile(` name="quantity"[^>]*aria-invalid="true"`).MatchString(refused) {
		t.Error("the quantity is not marked")
	}
	filled.Set("quantity", "501.00")
	s.shows(s.send("transfer", s.get("do/transfer", http.StatusOK), filled, http.StatusUnprocessableEntity), `role="alert"`,
		"above the limit by itself")

	s.do("change", values("account", "ann", "rates", "none"))
	page = s.get("accounts/ann", http.StatusOK)
	s.lacks(page, `id="rates-title"`)
	s.shows(section(page, "changes-title"), "no limits over time")
	for rates, says := range map[string]string{
		"USD":                      "Limits over time: &#34;USD&#34; is not an asset, a quantity and a time",
		"USD:1/hour":               "Limits over time: &#34;hour&#34; is not day, week or month",
		"USD:x/day":                "Limits over time: &#34;x&#34; is not",
		"USD:1/day@":               "Limits over time: &#34;USD:1/day@&#34; has no zone",
		"NONE:1/day":               "no such asset",
		"USD:1.00/day\nUSD:0/week": "Limits over time, no. 2: must be above zero",
		"USD:1/day@Berlin":         "Limits over time, no. 1: must be a name of the IANA",
		"USD:1/day\nUSD:2/day":     "Limits over time, no. 2: must differ",
	} {
		filled := values("account", "ann", "rates", rates)
		form := s.get("do/change?account=ann", http.StatusOK)
		filled.Set("confirmed", "yes")
		page := s.send("change", form, filled, http.StatusUnprocessableEntity)
		s.shows(page, `role="alert"`, says)
		if !regexp.MustCompile(` name="rates"[^>]*aria-invalid="true"`).MatchString(page) {
			t.Errorf("%q: the field is not marked", rates)
		}
	}
	unlimited := values("account", "bank", "rates", "USD:1/day", "confirmed", "yes")
	s.shows(s.send("change", s.get("do/change?account=bank", http.StatusOK), unlimited, http.StatusUnprocessableEntity),
		`role="alert"`, "cannot be changed like this*Limits over time: must not be given for an account whose overdraft is unlimited")
}
