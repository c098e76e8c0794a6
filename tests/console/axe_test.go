package console

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"ledger.example/tests/full"
)

// axeVariable is the environment variable with the path of axe.min.js.
const axeVariable = "AXE_CORE"

// axeRun checks the page against WCAG 2.2, levels A and AA, and the best practices of axe-core. It returns one text per
// violated rule.
const axeRun = `axe.run(document, {resultTypes: ["violations"],
	runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r => r.violations.map(v =>
	v.id + ": " + v.help + v.nodes.slice(0, 3).map(n => "\n  " + n.html + "\n  " + n.failureSummary).join("")))`

// display is a color scheme and a viewport width.
type display struct {
	scheme string
	width  int64
}

func (l display) String() string { return fmt.Sprintf("%s-%d", l.scheme, l.width) }

const (
	desktop = 1280
	phone   = 375
)

var displays = []display{{"light", desktop}, {"dark", desktop}, {"dark", phone}, {"light", phone}}

// setDisplay sets the color scheme and width of the current page.
func (b *browser) setDisplay(l display) {
	b.Helper()
	b.run(chromedp.EmulateViewport(l.width, 800), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
		})
		return err
	}))
}

// No page violates an accessibility rule, in dark or light mode, on a desktop or a phone.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	path := os.Getenv(axeVariable)
	if path == "" {
		full.Without(t, "axe-core ("+axeVariable+" says where its axe.min.js is; .ci/run installs it)")
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t)
	b.everyPage(func(name string) {
		b.run(chromedp.Evaluate[chromedp.Void](string(script) + ";null"))
		violations := make(map[string][]display)
		for _, l := range displays {
			b.setDisplay(l)
			for _, rule := range evaluate(b, chromedp.Evaluate[[]string](axeRun, chromedp.EvalAwaitPromise)) {
				violations[rule] = append(violations[rule], l)
			}
			b.screenshot(name + "-" + l.String())
		}
		for rule, in := range violations {
			t.Errorf("%s %s violates %s", name, in, rule)
		}
	})
}

// On a phone, no page is wider than the screen, and no tap target is too small.
func TestPhone(t *testing.T) {
	t.Parallel()
	full.Only(t, "opens every page in Chromium")
	b := newBrowser(t)
	b.setDisplay(display{"light", phone})
	b.everyPage(func(name string) {
		wide := fmt.Sprintf(`document.documentElement.scrollWidth > %d`, phone)
		if evaluate(b, chromedp.Evaluate[bool](wide)) {
			t.Errorf("%s is wider than a phone", name)
			b.screenshot(name)
		}
		small := evaluate(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll(
			"button, select, .actions a, header a:not(.skip), input:not([type=hidden], [type=checkbox])")]
			.filter(e => e.getBoundingClientRect().height < 32).map(e => e.outerHTML)`))
		if len(small) > 0 {
			t.Errorf("%s has small tap targets: %q", name, small)
		}
	})
}

// everyPage opens each kind of page in each state, and calls visit.
func (b *browser) everyPage(visit func(name string)) {
	b.Helper()
	open := func(name, path string) {
		b.run(b.open(path))
		visit(name)
	}
	open("empty", "")
	open("empty-search", "search?q=nobody")
	open("problem", "accounts/nobody")
	b.fill()
	for _, post := range []string{
		`{"id":"held","from":"jane","to":"shop","asset":"USD","quantity":"1200","hold":{}}`,
		`{"id":"captured","from":"jane","to":"shop","asset":"USD","quantity":"900","hold":{},"description":"Card payment"}`,
		`{"id":"released","from":"jane","to":"shop","asset":"USD","quantity":"300","hold":{}}`,
		`{"id":"posted","from":"jane","to":"shop","asset":"USD","quantity":"450","metadata":{"order":"1001"}}`,
	} {
		b.ledger.Must(201, "POST", "/v1/transfers", post)
	}
	b.ledger.Must(200, "POST", "/v1/transactions/captured/capture", `{"quantity":"800"}`)
	b.ledger.Must(200, "POST", "/v1/transactions/released/release", `{}`)
	b.ledger.Must(201, "POST", "/v1/transactions/posted/reversals", `{"id":"reversal","quantity":"100"}`)
	b.ledger.Must(201, "PUT", "/v1/accounts/frozen", `{"name":"Frozen"}`)
	b.ledger.Must(200, "PATCH", "/v1/accounts/frozen", `{"state":"frozen"}`)
	b.ledger.Must(201, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"viewer"}`)
	b.ledger.Must(201, "PUT", "/v1/groups/desk", `{"name":"Front desk"}`)
	b.ledger.Must(201, "PUT", "/v1/groups/desk/accounts/jane", "")
	b.ledger.Must(201, "PUT", "/v1/groups/desk/members/u-17", `{"role":"operator"}`)
	b.eventually("accounts/jane", "u-17")
	b.eventually("accounts/jane", "groups/desk")
	b.eventually("groups/desk", "u-17")
	b.eventually("", "up to date")
	open("home", "")
	b.eventually("", "Frozen accounts")
	open("home-attention", "")
	open("account", "accounts/jane")
	open("account-in-asset", "accounts/jane?asset=USD")
	open("account-of-days", "accounts/jane?from=2026-02-01&to=2026-01-01")
	open("account-frozen", "accounts/frozen")
	open("asset", "assets/USD")
	open("groups", "groups")
	open("accounts", "accounts?q=jane")
	open("assets", "assets")
	open("transactions", "transactions?to=2026-13-01")
	open("holds", "holds")
	open("trial-balance", "trial-balance")
	open("group", "groups/desk")
	open("search", "search?q=ja")
	open("search-metadata", "search?q=order%3D1001")
	for _, id := range []string{"held", "captured", "released", "posted", "reversal"} {
		open("transaction-"+id, "transactions/"+id)
	}
	for _, f := range []struct{ action, good, bad string }{
		{"transfer", "from=jane&to=shop&asset=USD&quantity=1", "from=jane&to=shop&asset=USD&quantity=1000"},
		{"trade", "asset=USD&buyer=jane&seller=shop&quantity=1&cost=0", "asset=USD&buyer=jane&seller=shop&quantity=1&cost=x"},
		{"hold", "from=jane&to=shop&asset=USD&quantity=1", "from=jane&to=shop&asset=USD&quantity=1000"},
		{"group", "id=new", ""},
		{"group-add", "group=desk&account=shop", ""},
		{"grant-group", "group=desk&user=u-18", ""},
		{"revoke-account", "account=jane&user=u-17", ""},
		{"capture", "transaction=held&quantity=12", "transaction=held&quantity=13"},
		{"release", "transaction=held", "transaction=released"},
		{"reverse", "transaction=posted", "transaction=held"},
		{"legs", "account-1=jane&asset-1=USD&quantity-1=-1&account-2=shop&asset-2=USD&quantity-2=1&metadata=order%3D1", "account-1=jane"},
		{"account", "id=new&name=New", ""},
		{"change", "account=jane&name=Jane&limits=5+USD", ""},
		{"asset", "id=NEW&name=New&scale=2", ""},
		{"state", "account=frozen", ""},
	} {
		open("do-"+f.action, "do/"+f.action+"?"+f.good)
		b.click("Preview")
		visit("do-" + f.action + "-preview")
		if f.bad != "" {
			b.run(b.open("do/" + f.action + "?" + f.bad))
			b.click("Preview")
			visit("do-" + f.action + "-refused")
		}
	}
	b.run(chromedp.Evaluate[chromedp.Void](`document.cookie = "ledger-user-" + location.port + "=u-17; path=/console/"`))
	open("user", "")
	b.run(chromedp.Evaluate[chromedp.Void](`document.cookie = "ledger-user-" + location.port + "=; path=/console/; max-age=0"`))
}
