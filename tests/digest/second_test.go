package digest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/events"
	"ledger.example/internal/digest"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/tests/system"
)

// dynamoJSON returns a value in the form of DynamoDB's JSON.
func dynamoJSON(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberL:
		all := make([]any, len(v.Value))
		for i, element := range v.Value {
			all[i] = dynamoJSON(element)
		}
		return map[string]any{"L": all}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": itemJSON(v.Value)}
	}
	panic(fmt.Sprintf("items do not have a %T", v))
}

func itemJSON(item store.Item) map[string]any {
	all := make(map[string]any)
	for name, v := range item {
		all[name] = dynamoJSON(v)
	}
	return all
}

// A second implementation, in Python and from the words of docs/proof.md, has the same leaves for events of every type,
// also with characters that JSON escapes, the same root, and accepts the same proofs.
func TestSecondImplementation(t *testing.T) {
	b := newBook(t)
	odd := opened("odd")
	odd.Name = "\x01\t\x7f\u0085\u2028\U000e0001<\\\""
	all, _ := drawn(t)
	all = append(all, odd)
	for page := range slices.Chunk(all, 6) {
		b.page(page...)
	}
	b.list(all[0]) // again
	void := projections.JournalPage{ID: events.FirstKSUID(b.now), Void: true, Entries: []projections.JournalEntry{projections.EntryOf(all[1])}}
	b.write(void)
	sealed := b.run().Note
	b.page(posted("t-9", 9)) // not sealed
	given := map[string]any{"note": b.files()[filepath.Join(b.dir, "notes", fmt.Sprint(sealed.Size))]}
	var items []any
	for _, item := range system.Contents(t, b.Client, b.Name) {
		items = append(items, itemJSON(item))
	}
	var proofs []string
	var wanted []bool
	for i, e := range all {
		p, err := digest.Prove(t.Context(), b.config(), store.EventKey(e))
		b.must(err)
		proofs, wanted = append(proofs, string(p.Text())), append(wanted, true)
		switch i % 3 {
		case 0:
			p.Index++
		case 1:
			p.Path = p.Path[1:]
		case 2:
			p.Canonical = bytes.Replace(p.Canonical, []byte(`"V":"1"`), []byte(`"V":"2"`), 1)
		}
		proofs, wanted = append(proofs, string(p.Text())), append(wanted, false)
	}
	given["items"], given["proofs"] = items, proofs
	in, err := json.Marshal(given)
	b.must(err)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is missing: the second implementation runs on it. Install Python 3 (on Debian: apt-get " +
			"install python3) and run this again.")
	}
	command := exec.Command(python, "testdata/second.py")
	var problems strings.Builder
	command.Stdin, command.Stderr = bytes.NewReader(in), &problems
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &problems)
	}
	var second struct {
		Leaves []string
		Root   string
		Note   bool
		Proofs []bool
	}
	b.must(json.Unmarshal(out, &second))
	if !second.Note || second.Root != sealed.Root.String() || !slices.Equal(second.Proofs, wanted) {
		t.Errorf("%+v, want %+v and %v", second, sealed, wanted)
	}
	index := 7
	for _, e := range append(all, all[0]) {
		if leaf := tlog.RecordHash(events.AppendCanonical(nil, e)); hex.EncodeToString(leaf[:]) != second.Leaves[index] {
			t.Errorf("%v has another leaf", e)
		}
		index++
	}
	if index != len(second.Leaves) || int64(index) != sealed.Size {
		t.Errorf("%d leaves, and %d in Python", index, len(second.Leaves))
	}
}
