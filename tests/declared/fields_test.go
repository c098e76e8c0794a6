package declared_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/internal/desk/console"
	"ledger.example/tests/harness/system"
)

// values returns a value of a field, another one, and one above its limit. isPlain is true if the console shows the
// value as it is.
func values(t *testing.T, f client.Field) (one, other, over any, isPlain bool) {
	most, _ := strconv.Atoi(f.Tag.Get("most"))
	limits := map[string]string{}
	for i := range 101 {
		limits[fmt.Sprint("a", i)] = "1"
	}
	long := strings.Repeat("x", 5000)
	switch {
	case f.Is() == "Overdraft":
		return map[string]string{"USD": "5"}, map[string]string{"USD": "6"}, limits, false
	case f.Is() == "Rate":
		rate := func(quantity string) []any {
			return []any{map[string]string{"asset": "USD", "per": "day", "zone": "UTC", "quantity": quantity}}
		}
		return rate("5"), rate("6"), slices.Repeat(rate("7"), 101), false
	case f.Is() == "Metadata":
		return map[string]string{"tier": "gold"}, map[string]string{"tier": "new"}, map[string]string{"tier": long}, false
	case f.Is() == "Profile":
		return map[string]string{"a": "b"}, map[string]string{"a": "c"}, map[string]string{"a": long}, false
	case f.Is() == "ID":
		return "USD", "EUR", long, true
	case f.Type.Kind() == reflect.Int:
		return most - 1, most, most + 1, true
	case f.Type.Kind() == reflect.String:
		return "The <" + f.JSON + ">", "Another " + f.JSON, long, true
	}
	t.Fatalf("no value is known of the field %s: add one", f.JSON)
	return nil, nil, nil, false
}

// Each field that a request sets in a resource is stored, compared when the id is used again, and refused above its
// limit. The console has it in the form that registers the resource, and on the resource's page.
func TestEachFieldOfAResource(t *testing.T) {
	s := system.New(t)
	for _, id := range []string{"USD", "EUR"} {
		s.Must(201, "PUT", "/v1/assets/"+id, `{"name":"Money","scale":2}`)
	}
	page := consoleOf(t, s)
	schemas := s.Must(200, "GET", "/openapi.json", "")
	for form, o := range map[string]client.Operation{
		"asset": client.RegisterAsset.Untyped(), "account": client.OpenAccount.Untyped(), "group": client.RegisterGroup.Untyped(),
	} {
		path := func(id string) string { return o.Path[:strings.Index(o.Path, "{")] + id }
		body := map[string]any{}
		with := func(name string, value any) string {
			changed := maps.Clone(body)
			changed[name] = value
			return jsonOf(changed)
		}
		for _, f := range client.FieldsOf(o.In) {
			if f.IsSettable() {
				body[f.JSON], _, _, _ = values(t, f)
			}
		}
		s.Must(201, "PUT", path("new"), jsonOf(body))
		s.Must(200, "PUT", path("new"), jsonOf(body))
		listed := s.Must(200, "GET", strings.TrimSuffix(path(""), "/")+"?prefix=new", "")
		stored, shown, asked := s.Must(200, "GET", path("new"), ""), page(strings.TrimPrefix(path("new"), "/v1")), page("/do/"+form)
		for _, f := range client.FieldsOf(o.In) {
			if !f.IsSettable() {
				continue
			}
			one, other, over, isPlain := values(t, f)
			if got := jsonOf(stored.Value(f.JSON)); got != jsonOf(one) {
				t.Errorf("%s of a new %s is %s, was %v", f.JSON, form, got, one)
			}
			if got := jsonOf(listed.Value("data", 0, f.JSON)); (got == jsonOf(one)) != f.IsListed() {
				t.Errorf("%s of a %s in a list is %s: its tags list and stored say otherwise", f.JSON, form, got)
			}
			if most, ok := schemas.Value("components", "schemas", f.Is(), "maxLength").(float64); ok {
				longest := strings.Repeat("x", int(most))
				over = longest + "x"
				if f.Is() != "ID" {
					s.Must(201, "PUT", path("longest-"+f.JSON), with(f.JSON, longest))
				}
			}
			for value, status := range map[*any]int{&other: 409, &over: 400} {
				id := map[int]string{409: "new", 400: "another"}[status]
				if r := s.Send("PUT", path(id), with(f.JSON, *value)); r.Status != status || !strings.HasPrefix(r.Text("errors", 0, "field"), f.JSON) {
					t.Errorf("another value, or one above the limit, of %s of a %s: %d %.300s", f.JSON, form, r.Status, r.Body)
				}
			}
			if text := html.EscapeString(fmt.Sprint(one)); isPlain && !strings.Contains(shown, text) {
				t.Errorf("the page of a %s lacks its %s", form, f.JSON)
			}
			if isPlain && !strings.Contains(asked, fmt.Sprintf(`name="%s"`, f.JSON)) {
				t.Errorf("the form of a %s has no %s", form, f.JSON)
			}
			if form == "account" { // what a changed account shows can be sent back
				s.Must(200, "PATCH", path("new"), jsonOf(map[string]any{f.JSON: other}))
				s.Must(200, "PUT", path("new"), string(s.Must(200, "GET", path("new"), "").Body))
				s.Must(200, "PATCH", path("new"), jsonOf(map[string]any{f.JSON: one}))
			}
		}
	}
}

// consoleOf returns a function that returns a page of the console of a ledger.
func consoleOf(t *testing.T, s *system.System) func(path string) string {
	api, err := client.New(client.Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(console.New(t.Context(), api, console.Address{URL: s.URL}))
	t.Cleanup(site.Close)
	return func(path string) string {
		r, err := http.Get(site.URL + console.Path + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v", path, r.StatusCode, err)
		}
		return string(text)
	}
}

func jsonOf(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}
