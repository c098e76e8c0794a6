package console

import (
	"bytes"
	"flag"
	"image/png"
	"io"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"ledger.example/internal/desk/console"
	"ledger.example/tests/harness/process"
)

// demoPicture is the file for the README's screenshot, ../../docs/console.png. No test compares it.
var demoPicture = flag.String("picture", "", "file for a screenshot of an account of the demo")

const (
	pictureHeight = 1105      // to the end of the chart
	pictureBytes  = 150 << 10 // maximum file size
)

// The demo's home page has every kind of transaction and asset, and its account pages have a week of history.
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
	b.shows("Frozen accounts")
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
