package console

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"ledger.example/tests/harness/full"
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

// displays has pairs with both schemes and both widths. The style of a scheme has only colors, and that of a width has
// none, so a page needs one pair.
var displays = [][]display{{{"light", desktop}, {"dark", phone}}, {{"dark", desktop}, {"light", phone}}}

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

// No page violates an accessibility rule. On a phone, none is wider than the screen or has a tap target that is too
// small. Pages take turns with the pairs of displays.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	full.Only(t, "opens every page in Chromium")
	var script []byte
	if path := os.Getenv(axeVariable); path == "" {
		t.Run("Rules", func(t *testing.T) {
			full.Without(t, "axe-core ("+axeVariable+" says where its axe.min.js is; .ci/run installs it)")
		})
	} else {
		var err error
		if script, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	b := newBrowser(t)
	pages := 0
	b.everyPage(func(name string) {
		b.run(chromedp.Evaluate[chromedp.Void](string(script) + ";null"))
		violations := make(map[string][]display)
		for _, l := range displays[pages%len(displays)] {
			b.setDisplay(l)
			if script != nil {
				for _, rule := range evaluate(b, chromedp.Evaluate[[]string](axeRun, chromedp.EvalAwaitPromise)) {
					violations[rule] = append(violations[rule], l)
				}
			}
			if l.width == phone {
				b.checkPhone(name)
			} else {
				b.checkDesktop(name)
			}
			b.screenshot(name + "-" + l.String())
		}
		for rule, in := range violations {
			t.Errorf("%s %s violates %s", name, in, rule)
		}
		pages++
	})
}

// checkDesktop fails the test if the top of the current page takes more than a row.
func (b *browser) checkDesktop(name string) {
	b.Helper()
	if rows := evaluate(b, chromedp.Evaluate[int](`new Set([...document.querySelectorAll(".brand, .bar input, .bar nav a")]
		.map(e => e.getBoundingClientRect()).map(r => Math.round((r.top + r.bottom) / 8))).size`)); rows > 1 {
		b.Errorf("the top of %s takes %d rows", name, rows)
	}
}

// checkPhone fails the test if the current page is wider than a phone, or has small tap targets.
func (b *browser) checkPhone(name string) {
	b.Helper()
	if evaluate(b, chromedp.Evaluate[bool](fmt.Sprintf(`document.documentElement.scrollWidth > %d`, phone))) {
		b.Errorf("%s is wider than a phone", name)
	}
	small := evaluate(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll(
		"button, select, .actions a, header a:not(.skip), input:not([type=hidden], [type=checkbox])")]
		.filter(e => e.getBoundingClientRect().height < 32).map(e => e.outerHTML)`))
	if len(small) > 0 {
		b.Errorf("%s has small tap targets: %q", name, small)
	}
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
	b.ledger.Must(200, "PATCH", "/v1/accounts/jane", `{"rates":[{"asset":"USD","per":"day","quantity":"500000"},
		{"asset":"USD","per":"month","zone":"America/Argentina/ComodRivadavia","quantity":"1234567890123456789012345678"}]}`)
	b.ledger.Must(201, "POST", "/v1/transfers", `{"id":"limited","from":"jane","to":"shop","asset":"USD","quantity":"100"}`)
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
	open("statement", "accounts/jane/statement?asset=USD")
	open("account-frozen", "accounts/frozen")
	open("asset", "assets/USD")
	open("groups", "groups")
	open("accounts", "accounts?q=jane")
	open("accounts-with-balances", "accounts?asset=USD&sort=balance")
	open("assets", "assets")
	open("transactions", "transactions?to=2026-13-01")
	open("holds", "holds")
	b.ledger.Must(201, "PUT", "/v1/periods/1", `{"closed_before":"2026-02-01T00:00:00Z","reason":"January is audited"}`)
	open("periods", "periods")
	open("audit-empty", "audit")
	ledger, journal := proxied(b.TB, b.ledger)
	journal.journaled(eachEvent(b.TB))
	b.site, ledger = ledger, b.site
	open("audit", "audit")
	b.site = ledger
	open("refusals", "refusals")
	open("audit-wrong", "audit?type=nothing")
	open("trial-balance", "trial-balance")
	open("trial-balance-now", "trial-balance?at=now")
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
		{"sweep", "from=jane&to=shop&asset=USD&keep=1", "from=jane&to=shop&asset=USD&up_to=1000&at_least=1000"},
		{"collect", "from=jane&asset=USD&to=shop%3Drest", "from=jane&asset=USD&at_least=9999999&to=shop%3Drest"},
		{"split", "from=jane&asset=USD&quantity=1&to=shop%3Drest", "from=jane&asset=USD&quantity=1&to=shop%3D50%25"},
		{"legs", "account-1=jane&asset-1=USD&quantity-1=-1&account-2=shop&asset-2=USD&quantity-2=1&metadata=order%3D1", "account-1=jane"},
		{"account", "id=new&name=New", ""},
		{"change", "account=jane&name=Jane&limits=5+USD", ""},
		{"asset", "id=NEW&name=New&scale=2", ""},
		{"state", "account=frozen", ""},
		{"close-books", "through=2026-02-28&reason=Audited", "through=2026-01-01&reason=Audited"},
		{"open-books", "from=2026-01-01&reason=Late", "from=2026-03-01&reason=Late"},
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
