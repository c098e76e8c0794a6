package console

import (
	"bytes"
	"flag"
	"image/png"
	"io"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"ledger.example/internal/desk/console"
	"ledger.example/tests/harness/process"
)

// demoPicture is the file for the README's screenshot, ../../docs/console.png. No test compares it.
var demoPicture = flag.String("picture", "", "file for a screenshot of an account of the demo")

const (
	pictureHeight = 1195      // to the end of the open holds
	pictureBytes  = 150 << 10 // maximum file size
)

// The demo has every kind of transaction, two currencies, a closed month, what needs attention, refused payments, and
// account pages with two months of history.
func TestDemo(t *testing.T) {
	t.Parallel()
	chromium(t)
	demo := process.Start(t, "up", "--memory", "--demo", "--port", "0") // before the browser, so that it stops after it
	b := newBrowser(t)
	b.url = demo.URL + console.Path
	b.has(b.body(demo.URL+"/"), `<a href="`+console.Path+`">Open the console</a>`) // up serves it
	b.lacks(b.body(b.ledger.URL+"/"), console.Path)
	b.setDisplay(display{"light", desktop})
	b.openWhen("", "up to date")
	for _, text := range []string{"Frozen accounts", "Holds that expire within a day", "card-0", "The books are closed through", "Volume by day"} {
		b.shows(text)
	}
	b.run(b.open("refusals"))
	for _, text := range []string{"card-4", "insufficient_funds", "card-5", "account_frozen"} {
		b.shows(text)
	}
	b.run(b.open("periods"))
	b.shows("is audited")
	b.run(b.open("accounts/landlord/statement?asset=EUR&month=" + time.Now().UTC().AddDate(0, 0, -time.Now().UTC().Day()).Format("2006-01")))
	b.shows("1,820.00 EUR")
	b.run(b.open("transactions"))
	for _, text := range []string{"held", "captured", "released", "reversal", "AAPL", "TSLA", "Ann Poe"} {
		b.shows(text)
	}
	b.run(chromedp.EmulateViewport(desktop, pictureHeight), b.open("accounts/ann?asset=USD"))
	b.shows("Ann Poe")
	if *demoPicture == "" {
		return
	}
	shot, err := png.Decode(bytes.NewReader(evaluate(b, chromedp.CaptureScreenshot())))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, shot); err != nil {
		t.Fatal(err)
	}
	if out.Len() > pictureBytes {
		t.Errorf("the screenshot has %d bytes, want at most %d", out.Len(), pictureBytes)
	}
	if err := os.WriteFile(*demoPicture, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// body returns the body of a page that is not of the console.
func (s *site) body(url string) string {
	s.Helper()
	r, err := s.browser.Get(url)
	if err != nil {
		s.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.Fatal(err)
	}
	return string(body)
}
