package console

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"ledger.example/tests/harness/full"
)

// eventRecorder makes each page record its event streams and count their events.
const eventRecorder = `window.streams = []; window.heard = 0;
window.EventSource = class extends EventSource {
	constructor(url) { super(url); streams.push(this); this.addEventListener("message", () => heard++); }
};`

// A hidden page closes its event stream, because browsers allow six connections per server. When it is visible again,
// it refreshes.
func TestHiddenPageClosesEventStream(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.recordEvents()
	b.fill()
	b.run(b.open(""))
	b.poll("heard > 0")
	b.hide(true)
	b.poll("streams.every(s => s.readyState === EventSource.CLOSED)")
	b.do("transfer", values("from", "jane", "to", "shop", "asset", "USD", "quantity", "1.23"))
	b.hide(false)
	b.shows("1.23")
}

// The list of newest transactions is not replaced while it has the focus. It refreshes when it loses the focus.
func TestFocusedListRefreshesOnBlur(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.recordEvents()
	b.fill()
	b.eventually("", "100.00")
	b.run(b.open(""))
	b.poll("heard > 0")
	const link = `[data-live] td a[href^='/console/transactions/']`
	b.poll(fmt.Sprintf("(document.querySelector(%q)?.focus(), document.activeElement.matches(%[1]q))", link))
	before := evaluate(b, chromedp.Evaluate[int]("heard"))
	b.do("transfer", values("from", "jane", "to", "shop", "asset", "USD", "quantity", "1.23"))
	b.poll(fmt.Sprintf("heard > %d", before))
	b.hasFocus(link)
	b.run(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
	b.shows("1.23")
}

// recordEvents installs eventRecorder in all pages opened from now on.
func (b *browser) recordEvents() {
	b.Helper()
	b.run(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: eventRecorder})
		if err == nil { // without it, focus events are not sent
			_, err = cdp.Call(ctx, t, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		}
		return err
	}))
}

// hide simulates that the tab becomes hidden or visible.
func (b *browser) hide(hidden bool) {
	b.Helper()
	b.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %t, configurable: true});
		document.dispatchEvent(new Event("visibilitychange"))`, hidden)))
}

// poll waits until an expression is true in the page.
func (b *browser) poll(expression string) {
	b.Helper()
	b.run(chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(timeout)))
}

// Long words do not make a page wider than the screen.
func TestLongWords(t *testing.T) {
	t.Parallel()
	full.Only(t, "opens many pages in Chromium")
	b := newBrowser(t)
	b.fill()
	word := strings.Repeat("w", 256)
	long := longestID("a")
	b.ledger.Must(201, "PUT", "/v1/assets/"+long, `{"name":"`+word+`","scale":2,"description":"`+word+`"}`)
	b.ledger.Must(201, "PUT", "/v1/accounts/"+long, `{"name":"`+word+`","overdraft":"unlimited"}`)
	b.ledger.Must(201, "PUT", "/v1/groups/"+long, `{"name":"`+word+`","description":"`+word+`"}`)
	b.ledger.Must(201, "POST", "/v1/transfers", `{"id":"`+long+`","from":"`+long+`","to":"jane","asset":"`+long+
		`","quantity":"1","description":"`+word+`","metadata":{"`+strings.Repeat("k", 40)+`":"`+word+`"}}`)
	b.ledger.Must(201, "POST", "/v1/transactions/"+long+"/reversals", `{"description":"`+word+`"}`)
	b.ledger.Must(201, "PUT", "/v1/groups/"+long+"/accounts/"+long, "")
	b.ledger.Must(201, "PUT", "/v1/groups/"+long+"/members/"+long, `{"role":"owner"}`)
	b.ledger.Must(201, "PUT", "/v1/accounts/"+long+"/members/"+long, `{"role":"owner"}`)
	b.ledger.Must(201, "PUT", "/v1/periods/1", `{"closed_before":"2026-01-01T00:00:00Z","reason":"`+word+`"}`)
	b.ledger.Project()
	for _, path := range []string{"", "periods", "audit", "accounts/" + long, "accounts/" + long + "?asset=" + long, "transactions/" + long, "assets/" + long,
		"groups", "accounts", "transactions", "holds", "assets", "trial-balance?at=now", "groups/" + long, "search?q=" + strings.Repeat("w", 300), "search?q=" + word + "%3D" + word, "do/state?account=" + long,
		"do/transfer?from=" + word, "accounts/jane?to=" + word} {
		for _, width := range []int64{320, 390, desktop} {
			b.setDisplay(display{"light", width})
			b.run(b.open(path))
			if is := evaluate(b, chromedp.Evaluate[int64]("document.documentElement.scrollWidth")); is > width {
				t.Errorf("%.40s is %d pixels wide on a screen of %d", path, is, width)
			}
		}
	}
}
