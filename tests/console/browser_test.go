package console

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"ledger.example/tests/harness/full"
)

// browser is a Chromium that shows the console. It collects JavaScript errors and failed loads.
type browser struct {
	*site
	ctx context.Context

	mu     sync.Mutex
	faults []string
}

// resource matches the URLs of resources that pages load.
var resource = regexp.MustCompile(`/static/|/live|/newest|\.svg`)

// chromium returns the path of a Chromium. It skips the test if none is installed.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	full.Without(t, "Chromium (on Debian: apt-get install chromium)")
	return ""
}

// newBrowser starts a Chromium.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	// Without BackForwardCache: chromedp never sees a page load that comes from it.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()),
		chromedp.WSURLReadTimeout(timeout), chromedp.WindowSize(1200, 900), chromedp.NoSandbox, chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-features", "BackForwardCache,Translate"), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true))
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, closed := chromedp.NewContext(ctx)
	t.Cleanup(closed)
	b := &browser{site: newSite(t), ctx: ctx}
	err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.faults = append(b.faults, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			// A page with a 4xx status is expected, but a resource with one is an error.
			refused := strings.Contains(e.Entry.Text, "status of 4") && !resource.MatchString(e.Entry.URL)
			if e.Entry.Level == "error" && !refused {
				b.faults = append(b.faults, e.Entry.Text+": "+e.Entry.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, fault := range b.faults {
			t.Errorf("error in the browser: %s", fault)
		}
	})
	return b
}

// run runs actions in the browser, in order.
func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	evaluate(b, chromedp.Steps(actions...))
}

// evaluate runs one action in the browser and returns its result.
func evaluate[T any](b *browser, a chromedp.Action[T]) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	value, err := chromedp.Run(ctx, a)
	if err != nil {
		page, _ := chromedp.Run(b.ctx, chromedp.OuterHTML("main"))
		b.Fatalf("%v\n%s", err, page)
	}
	return value
}

func (b *browser) open(path string) chromedp.Action[chromedp.Void] {
	return chromedp.Navigate(b.url + path)
}

// click clicks the link or button with the text and waits for the next page.
func (b *browser) click(text string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(`//main//*[self::a or self::button][normalize-space()="`+text+
		`"]`)); err != nil {
		b.Fatalf("%s: %v", text, err)
	}
}

// shows waits until the page has a text.
func (b *browser) shows(text string) {
	b.Helper()
	b.poll(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// screenshot saves a screenshot among the test artifacts, with -artifacts.
func (b *browser) screenshot(name string) {
	b.Helper()
	if flag.Lookup("test.artifacts").Value.String() != "true" {
		return
	}
	png := evaluate(b, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(b.ArtifactDir(), name+".png"), png, 0o644); err != nil {
		b.Fatal(err)
	}
}

// A card payment by mouse: a hold, a partial capture, a partial refund, and the resulting balance.
func TestCardPaymentInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.fill()
	b.run(b.open("accounts/jane"))
	b.shows("100.00")
	b.click("Place a hold")
	b.run(chromedp.SendKeys("#to", "shop"), chromedp.SendKeys("#asset", "USD"), chromedp.SendKeys("#quantity", "50.00"))
	b.click("Preview")
	b.shows("What will be held")
	b.screenshot("preview")
	b.click("Hold")
	b.shows("The hold expires")
	b.screenshot("held")
	b.run(chromedp.NavigateBack()) // Back does not resubmit the form
	b.shows("What will be held")
	b.run(chromedp.NavigateForward())
	b.shows("The hold expires")
	b.click("Capture")
	if held := evaluate(b, chromedp.Value("#quantity")); held != "50.00" {
		t.Errorf("the capture form has the quantity %q, want the full hold", held)
	}
	b.run(chromedp.SetValue("#quantity", "42.10"))
	b.click("Preview")
	b.click("Capture")
	b.shows("How the hold ended")
	b.screenshot("captured")
	b.click("Reverse")
	b.run(chromedp.SetValue("#quantity", "2.10"), chromedp.SendKeys("#description", "Cold coffee"))
	b.click("Preview")
	b.click("Reverse")
	b.shows("reverses")
	b.eventually("accounts/jane", "<strong>60.00</strong>")
	b.run(b.open("accounts/jane"))
	b.screenshot("account")
}

// The home page shows new transactions without a reload.
func TestHomePageUpdatesLive(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.fill()
	b.run(b.open(""))
	b.shows("Newest transactions")
	b.do("transfer", values("from", "jane", "to", "shop", "asset", "USD", "quantity", "1.23"))
	b.shows("1.23")
	b.screenshot("home")
}
