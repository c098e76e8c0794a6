package console

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"ledger.example/tests/harness/full"
)

// tabsMax is the maximum number of Tab presses between two elements of a page.
const tabsMax = 80

// focused describes the focused element. It is ordered unless it is before or above the previously focused one.
const focused = `(() => {
	const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect(), before = window.before;
	const top = r.top + scrollY;
	window.before = e === document.body ? null : {e, top};
	return {
		here: e.matches(%q), body: e === document.body, what: e.outerHTML.slice(0, 200),
		visible: s.outlineStyle != "none" && parseFloat(s.outlineWidth) >= 2 && r.width > 0 && r.height > 0 &&
			r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth,
		ordered: !before || before.e === e || !!(before.e.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING) &&
			top + r.height > before.top,
	};
})()`

// tab presses Tab until an element that matches the selector has the focus.
func (b *browser) tab(selector string) {
	b.Helper()
	for range tabsMax {
		b.run(chromedp.KeyEvent(kb.Tab))
		f := evaluate(b, chromedp.Evaluate[struct {
			Here, Body, Visible, Ordered bool
			What                         string
		}](fmt.Sprintf(focused, selector)))
		if !f.Body && !f.Visible {
			b.Errorf("the focus on %s is not visible", f.What)
		}
		if !f.Body && !f.Ordered {
			b.Errorf("the focus jumps back to %s", f.What)
		}
		if f.Here {
			return
		}
	}
	b.Fatalf("Tab does not reach %s", selector)
}

// enter types text into fields. The arguments are pairs of field name and text.
func (b *browser) enter(fields ...string) {
	b.Helper()
	for i := 0; i < len(fields); i += 2 {
		b.tab(fmt.Sprintf("[name=%q]", fields[i]))
		b.run(chromedp.KeyEvent(fields[i+1]))
	}
}

// press tabs to a link or button, presses a key and waits for the next page.
func (b *browser) press(selector, key string) {
	b.Helper()
	b.tab(selector)
	b.load(key)
}

// drawn waits until a page is drawn. By then, autofocus has happened.
const drawn = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`

// load presses a key and waits for the next page.
func (b *browser) load(key string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.KeyEvent(key)); err != nil {
		b.Fatalf("%q: %v", key, err)
	}
	b.run(chromedp.Evaluate[chromedp.Void](drawn, chromedp.EvalAwaitPromise))
}

// confirm submits a form and confirms its preview.
func (b *browser) confirm() {
	b.Helper()
	b.load(kb.Enter)
	b.press("button.main", " ")
}

// hasFocus waits until an element that matches the selector has the focus.
func (b *browser) hasFocus(selector string) {
	b.Helper()
	b.poll(fmt.Sprintf("document.activeElement.matches(%q)", selector))
}

// openWhen waits until a page has a text, because projections are asynchronous, and opens it.
func (b *browser) openWhen(path, text string) {
	b.Helper()
	b.eventually(path, text)
	b.run(b.open(path))
}

// openForm opens the form of an action by a link on the page, or on the list to which it belongs.
func (b *browser) openForm(action string) {
	b.Helper()
	if list, ok := map[string]string{"asset": "assets", "account": "accounts", "transfer": "transactions", "sweep": "transactions", "trade": "transactions", "hold": "holds",
		"group": "groups"}[action]; ok {
		b.press(fmt.Sprintf(`header a[href="/console/%s"]`, list), kb.Enter)
	}
	b.press(fmt.Sprintf(`a[href*="/console/do/%s"]`, action), kb.Enter)
}

// fillIn opens the form of an action by a link on the page, fills it in, confirms its preview and waits for a text.
func (b *browser) fillIn(action, shows string, fields ...string) {
	b.Helper()
	b.openForm(action)
	b.enter(fields...)
	b.tab("button.main")
	b.confirm()
	b.shows(shows)
}

// Every action can be done by keyboard alone, starting at the home page.
func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	full.Only(t, "does every action in Chromium by keyboard")
	b := newBrowser(t)
	b.ledger.Must(201, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	b.ledger.Must(201, "PUT", "/v1/accounts/jane", `{"name":"Jane"}`)
	b.ledger.Must(201, "PUT", "/v1/accounts/shop", `{"name":"Shop"}`)
	b.run(b.open(""))
	b.fillIn("asset", "Asset GOLD", "id", "GOLD", "name", "Gold", "scale", "0", "currency", "USD")
	b.fillIn("account", "Account bank", "id", "bank", "name", "Bank", "unlimited", " ")

	b.openForm("transfer")
	b.enter("from", "bank", "to", "jane", "asset", "USD", "quantity", "100.001")
	b.load(kb.Enter)
	b.shows("decimal places")
	b.hasFocus(`#quantity[aria-invalid="true"]`)
	b.run(chromedp.KeyEvent(kb.End + kb.Backspace))
	b.load(kb.Enter)
	b.hasFocus("#preview-title")
	b.press("button.main", kb.Enter)
	b.shows("Transaction ")

	b.fillIn("sweep", "transfer · posted", "from", "jane", "to", "shop", "asset", "USD", "keep", "60")
	b.fillIn("trade", "trade · posted", "asset", "GOLD", "buyer", "jane", "seller", "bank", "quantity", "3", "cost", "30", "settle", " ")
	b.fillIn("reverse", "reversal")
	b.fillIn("hold", "The hold expires", "from", "jane", "to", "shop", "asset", "USD", "quantity", "20", "hold", "30")
	b.fillIn("release", "released")
	b.ledger.Must(201, "POST", "/v1/transfers",
		`{"id":"held","from":"jane","to":"shop","asset":"USD","quantity":"3000","hold":{}}`)
	b.run(b.open("transactions/held"))
	b.openForm("capture")
	b.enter("quantity", "31")
	b.load(kb.Enter)
	b.shows("This is more than the hold has")
	b.hasFocus(`#quantity[aria-invalid="true"]`)
	b.run(chromedp.KeyEvent(kb.End + kb.Backspace + "0"))
	b.confirm()
	b.shows("How the hold ended")

	b.run(chromedp.KeyEvent("/"))
	b.hasFocus("header input[name=q]")
	b.run(chromedp.KeyEvent("/")) // is text there
	b.run(chromedp.KeyEvent(kb.Backspace))
	b.enter("q", "jane")
	b.load(kb.Enter)
	b.shows("Account jane")
	b.fillIn("state", "frozen", "state", "fr")
	b.openForm("state")
	b.enter("state", "op")
	b.press("button.main", kb.Enter)
	b.press("[name=change]", kb.Enter)
	b.hasFocus("body")

	b.run(b.open("periods"))
	b.fillIn("close-books", "The books are closed through 31 January 2026", "through", "01312026", "reason", "Audited")
	b.fillIn("open-books", "No period of the books is closed", "from", "01012000", "reason", "Late")

	b.auditByKeyboard()
	b.run(b.open("groups"))
	b.fillIn("group", "Group desk", "id", "desk", "name", "Front desk")
	b.fillIn("group-add", "Group desk", "account", "jane")
	b.openWhen("groups/desk", "accounts/jane")
	b.fillIn("grant-group", "Group desk", "user", "u-7", "role", "op")
	b.openWhen("groups/desk", "operator")
	b.press("td button", " ")
	b.shows("Accounts of u-7")
	b.press(".as button", kb.Enter)
	b.run(b.open("groups/desk"))
	b.fillIn("revoke-group", "Group desk")
	b.openWhen("groups/desk", "No users have a role here")
	b.fillIn("group-remove", "Group desk")
	b.openWhen("groups/desk", "This group has no accounts")
}

// auditByKeyboard finds who did something, goes to what it was done to, and asks for days that are none.
func (b *browser) auditByKeyboard() {
	b.Helper()
	ledger := b.site
	defer func() { b.site = ledger }()
	journaled, journal := proxied(b.TB, b.ledger)
	journal.journaled(eachEvent(b.TB))
	b.site = journaled
	b.run(b.open(""))
	b.press(`header a[href="/console/audit"]`, kb.Enter)
	b.enter("account", "jane", "actor", "loc", "type", "account.o", "from", "01152026", "to", "01152026")
	b.press(".filter button", " ")
	b.shows("account.opened")
	b.press(`td a[href="/console/accounts/jane"]`, kb.Enter)
	b.shows("Account jane")
	b.press(`header a[href="/console/audit"]`, kb.Enter)
	b.enter("from", "01162026", "to", "01152026")
	b.load(kb.Enter)
	b.hasFocus(".fault")
}
