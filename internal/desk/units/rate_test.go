package units

import (
	"encoding/json"
	"testing"
)

// Limits over time, as people write them.
func TestRates(t *testing.T) {
	for text, want := range map[string]string{
		"EUR:500/day":               `{"asset":"EUR","per":"day","quantity":"500"}`,
		"EUR:500/week@UTC":          `{"asset":"EUR","per":"week","zone":"UTC","quantity":"500"}`,
		"EUR:500/day@Europe/Berlin": `{"asset":"EUR","per":"day","zone":"Europe/Berlin","quantity":"500"}`,
		"a:b@c:5/month@Etc/GMT+5":   `{"asset":"a:b@c","per":"month","zone":"Etc/GMT+5","quantity":"5"}`,
		"EUR:0/day@nowhere":         `{"asset":"EUR","per":"day","zone":"nowhere","quantity":"0"}`, // refused by the API

		"": "", "EUR": "", "EUR:500": "", "EUR/day": "", ":500/day": "", "EUR:/day": "", "EUR:x/day": "", "EUR:5.5/day": "", "EUR:5/": "",
		"EUR:5/hour": "", "EUR:5/day@": "", "EUR:5/@UTC": "", "EUR:5/Day": "", "EUR:5 /day": "",
	} {
		got := ""
		if r, err := New(nil, true).Rate(t.Context(), "what", text); err == nil {
			shown, _ := json.Marshal(r)
			got = string(shown)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
