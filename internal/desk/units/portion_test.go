package units

import (
	"context"
	"encoding/json"
	"testing"
)

// Portions of a split, as people write them.
func TestPortions(t *testing.T) {
	for text, want := range map[string]string{
		"fees=2.9%+30":      `{"account":"fees","share":"2.9%","quantity":"30"}`,
		" tax = 19/119 ":    `{"account":"tax","share":"19/119"}`,
		"tips=30 + 2.9%":    `{"account":"tips","share":"2.9%","quantity":"30"}`,
		"shop=rest":         `{"account":"shop","rest":1}`,
		"users:ann=rest:12": `{"account":"users:ann","rest":12}`,
		"a=rest+1":          `{"account":"a","quantity":"1","rest":1}`, // refused by the API
		"a=0":               `{"account":"a","quantity":"0"}`,

		"": "", "shop": "", "a=": "", "a=+": "", "a=1+2": "", "a=1%+2%": "", "a=rest+rest": "", "a=rest:": "", "a=rest:0": "", "a=rest:x": "",
		"a=rest2": "", "a=x": "", "a=1.5": "",
	} {
		got := ""
		if p, err := New(nil, true).Portion(context.Background(), "what", "USD", text); err == nil {
			shown, _ := json.Marshal(p)
			got = string(shown)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
