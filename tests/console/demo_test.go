package console

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"ledger.example/internal/console"
	"ledger.example/tests/process"
)

// demoPicture is where the README's picture goes: go test ./tests/console -run Demo -args -picture=../../docs/console.png
var demoPicture = flag.String("picture", "", "file for a screenshot of the demo's first page")

// pictureBytes is the most bytes of the README's picture.
const pictureBytes = 150 << 10

// The demo shows something of everything on its first page.
func TestDemo(t *testing.T) {
	demo := process.Start(t, "up", "--memory", "--demo", "--port", "0") // first: it outlives the browser
	b := newBrowser(t)
	b.url = demo.URL + console.Path
	b.as(look{"light", desktop})
	b.eventually("", "up to date")
	b.run(b.open("accounts/ann?asset=USD"))
	b.shows("Ann Poe")
	b.run(b.open(""))
	for _, text := range []string{"up to date", "held", "captured", "released", "reversal", "AAPL", "TSLA", "frozen"} {
		b.shows(text)
	}
	if *demoPicture == "" {
		return
	}
	b.run(chromedp.EmulateViewport(desktop, 760))
	shot, err := png.Decode(bytes.NewReader(evaluate(b, chromedp.CaptureScreenshot())))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, shot); err != nil {
		t.Fatal(err)
	}
	if out.Len() > pictureBytes {
		t.Errorf("the picture has %d bytes, at most %d", out.Len(), pictureBytes)
	}
	if err := os.WriteFile(*demoPicture, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
