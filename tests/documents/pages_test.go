package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fenced    = regexp.MustCompile("(?ms)^```.*?^```")
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	link      = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]+))?\)`)
	reference = regexp.MustCompile(`\]\[([a-z0-9-]+)\]`)
	notSlug   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Every relative link in a document leads to an existing file, and its anchor to an existing heading. A link by a name
// has an address.
func TestLinks(t *testing.T) {
	top, _ := filepath.Glob(filepath.Join(root, "*.md"))
	below, _ := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	anchors := make(map[string]bool) // of headings, as file#anchor
	texts := make(map[string]string)
	for _, document := range append(top, below...) {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		texts[document] = withoutCode(text)
		for _, h := range heading.FindAllStringSubmatch(texts[document], -1) {
			anchors[document+"#"+slug(h[1])] = true
		}
	}
	for document, text := range texts {
		for _, r := range reference.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(text, "\n["+r[1]+"]: https://") {
				t.Errorf("%s: %s has no address", document, r[0])
			}
		}
		for _, l := range link.FindAllStringSubmatch(text, -1) {
			target := document
			if l[1] != "" {
				target = filepath.Join(filepath.Dir(document), l[1])
			}
			if _, err := os.Stat(target); err != nil || l[2] != "" && !anchors[target+"#"+l[2]] {
				t.Errorf("%s: broken link %s", document, l[0])
			}
		}
	}
}

// A page of more than 2,500 words begins with links to its headings. go generate ./docs writes them.
func TestLongPagesHaveContents(t *testing.T) {
	pages, _ := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if len(strings.Fields(string(text))) <= 2500 {
			continue
		}
		start, _, _ := strings.Cut(string(text), "\n## ")
		for _, h := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(withoutCode(text), -1) {
			if !strings.Contains(start, "](#"+slug(h[1])+")") {
				t.Errorf("%s is long, and does not begin with a link to %q", page, h[1])
			}
		}
	}
}

// A stranger reads the README in one go, in this order, and makes a call soon.
func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) > 200 {
		t.Errorf("it has %d lines, more than 200", len(lines))
	}
	call := func(line string) bool { return strings.HasPrefix(line, "curl ") }
	if first := slices.IndexFunc(lines, call) + 1; first < 1 || first > 45 {
		t.Errorf("its first call is in line %d, after 45", first)
	}
	var headings []string
	for _, h := range heading.FindAllStringSubmatch(withoutCode(text), -1) {
		headings = append(headings, h[1])
	}
	want := []string{"Ledger", "Two commands", "Concepts", "Guarantees", "The life of a transaction", "The API by example",
		"Deploy", "Operate", "Limits", "Documents"}
	if !slices.Equal(headings, want) {
		t.Errorf("its headings are %q, want %q", headings, want)
	}
}

// withoutCode returns a page without its fenced blocks.
func withoutCode(page []byte) string { return fenced.ReplaceAllString(string(page), "") }

// slug is the anchor of a heading.
func slug(heading string) string {
	return strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}
