package console

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"ledger.example/tests/full"
)

// tabs is the most presses of the tabulator from anything of a page to anything else.
const tabs = 80

// focused describes what has the focus. It is in order unless it stands before, or wholly above, what had it before.
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

// tab presses the tabulator until what a selector matches has the focus.
func (b *browser) tab(selector string) {
	b.Helper()
	for range tabs {
		b.run(chromedp.KeyEvent(kb.Tab))
		f := evaluate(b, chromedp.Evaluate[struct {
			Here, Body, Visible, Ordered bool
			What                         string
		}](fmt.Sprintf(focused, selector)))
		if !f.Body && !f.Visible {
			b.Errorf("nobody sees that the focus is on %s", f.What)
		}
		if !f.Body && !f.Ordered {
			b.Errorf("the focus jumps back to %s", f.What)
		}
		if f.Here {
			return
		}
	}
	b.Fatalf("the tabulator does not lead to %s", selector)
}

// enter goes to each named field, and types the text behind its name.
func (b *browser) enter(fields ...string) {
	b.Helper()
	for i := 0; i < len(fields); i += 2 {
		b.tab(fmt.Sprintf("[name=%q]", fields[i]))
		b.run(chromedp.KeyEvent(fields[i+1]))
	}
}

// press goes to a link or button, presses a key there, and waits for the page behind it.
func (b *browser) press(selector, key string) {
	b.Helper()
	b.tab(selector)
	b.load(key)
}

// drawn waits until a page is drawn: by then what is to have the focus at first has it.
const drawn = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`

// load presses a key that leads to another page.
func (b *browser) load(key string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.KeyEvent(key)); err != nil {
		b.Fatalf("%q: %v", key, err)
	}
	b.run(chromedp.Evaluate[chromedp.Void](drawn, chromedp.EvalAwaitPromise))
}

// confirm sends a form, and confirms what it shows.
func (b *browser) confirm() {
	b.Helper()
	b.load(kb.Enter)
	b.press("button.main", " ")
}

// hasFocus waits until what a selector matches has the focus.
func (b *browser) hasFocus(selector string) {
	b.Helper()
	b.run(chromedp.Poll[chromedp.Void](fmt.Sprintf("document.activeElement.matches(%q)", selector),
		chromedp.WithPollingTimeout(timeout)))
}

// opens opens a page once it has a text: projections are a little behind.
func (b *browser) opens(path, text string) {
	b.Helper()
	b.eventually(path, text)
	b.run(b.open(path))
}

// goTo opens the form of an action by the links of a page.
func (b *browser) goTo(action string) {
	b.Helper()
	b.press(fmt.Sprintf(`a[href*="/console/do/%s"]`, action), kb.Enter)
}

// Every action is done by the keyboard alone, from the first page on.
func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	full.Only(t, "does every action in Chromium by keyboard")
	b := newBrowser(t)
	b.run(b.open(""))
	b.goTo("asset")
	b.enter("id", "USD", "name", "US dollar")
	b.confirm()
	b.shows("Asset USD")
	b.goTo("asset")
	b.enter("id", "GOLD", "name", "Gold", "scale", "0", "currency", "USD")
	b.confirm()
	for _, id := range []string{"jane", "shop", "bank"} {
		b.goTo("account")
		b.enter("id", id, "name", "Name of "+id)
		if id == "bank" {
			b.enter("unlimited", " ")
		}
		b.tab("button.main")
		b.confirm()
		b.shows("Account " + id)
	}

	b.goTo("transfer")
	b.enter("from", "bank", "to", "jane", "asset", "USD", "quantity", "100.001")
	b.load(kb.Enter)
	b.shows("decimal places")
	b.hasFocus(`#quantity[aria-invalid="true"]`)
	b.run(chromedp.KeyEvent(kb.End + kb.Backspace))
	b.load(kb.Enter)
	b.hasFocus("#preview-title")
	b.press("button.main", kb.Enter)
	b.shows("Transaction ")

	b.goTo("trade")
	b.enter("asset", "GOLD", "buyer", "jane", "seller", "bank", "quantity", "3", "cost", "30", "settle", " ")
	b.tab("button.main")
	b.confirm()
	b.shows("trade · posted")
	b.goTo("reverse")
	b.tab("button.main")
	b.confirm()
	b.shows("reversal")

	hold := func(quantity string) {
		b.goTo("hold")
		b.enter("from", "jane", "to", "shop", "asset", "USD", "quantity", quantity, "hold", "30")
		b.tab("button.main")
		b.confirm()
		b.shows("The hold expires")
	}
	hold("20")
	b.goTo("release")
	b.tab("button.main")
	b.confirm()
	b.shows("released")
	hold("30")
	b.goTo("capture")
	b.enter("quantity", "31")
	b.load(kb.Enter)
	b.shows("exceeds_hold")
	b.hasFocus(`#quantity[aria-invalid="true"]`)
	b.run(chromedp.KeyEvent(kb.End + kb.Backspace + "0"))
	b.confirm()
	b.shows("How the hold ended")

	b.enter("q", "jane")
	b.load(kb.Enter)
	b.shows("Account jane")
	b.goTo("state")
	b.enter("state", "fr")
	b.tab("button.main")
	b.confirm()
	b.shows("frozen")
	b.goTo("state")
	b.enter("state", "op")
	b.press("button.main", kb.Enter)
	b.press("[name=change]", kb.Enter)
	b.hasFocus("body")

	b.run(b.open("groups"))
	b.goTo("group")
	b.enter("id", "desk", "name", "Front desk")
	b.confirm()
	b.goTo("group-add")
	b.enter("account", "jane")
	b.confirm()
	b.opens("groups/desk", "accounts/jane")
	b.goTo("grant-group")
	b.enter("user", "u-7", "role", "op")
	b.tab("button.main")
	b.confirm()
	b.opens("groups/desk", "operator")
	b.press("td button", " ")
	b.shows("Accounts of u-7")
	b.press(".as button", kb.Enter)
	b.run(b.open("groups/desk"))
	b.goTo("revoke-group")
	b.tab("button.main")
	b.confirm()
	b.opens("groups/desk", "No users have a role here")
	b.goTo("group-remove")
	b.tab("button.main")
	b.confirm()
	b.opens("groups/desk", "This group has no accounts")
}
