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

// demoPicture is where the README's picture goes, ../../docs/console.png. No test compares it.
var demoPicture = flag.String("picture", "", "file for a screenshot of an account of the demo")

const (
	pictureHeight = 1105      // down to the chart's end
	pictureBytes  = 150 << 10 // the most of the file
)

// The demo shows something of everything on its first page, and a week on an account's.
func TestDemo(t *testing.T) {
	t.Parallel()
	demo := process.Start(t, "up", "--memory", "--demo", "--port", "0") // first: it outlives the browser
	b := newBrowser(t)
	b.url = demo.URL + console.Path
	b.as(look{"light", desktop})
	b.opens("", "up to date")
	for _, text := range []string{"held", "captured", "released", "reversal", "AAPL", "TSLA", "frozen", "Springfield"} {
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
		t.Errorf("the picture has %d bytes, at most %d", out.Len(), pictureBytes)
	}
	if err := os.WriteFile(*demoPicture, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
