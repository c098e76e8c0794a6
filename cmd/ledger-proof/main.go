// Ledger-proof checks proofs of a ledger's journal. It reads files only, and needs neither the ledger nor its table.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/events"
	"ledger.example/internal/watch/proof"
)

const usage = `ledger-proof checks proofs of a ledger's journal. It reads files only.

  ledger-proof inclusion PROOF --key KEY
  ledger-proof consistency OLD NEW HASHES --key KEY
  ledger-proof book ENTRIES NOTE --key KEY [--as-of TIME] [--account ACCOUNT]

KEY is the file key.pub of the auditor, whom you must trust for it. --key may be repeated, for two auditors. The exit
status is 0 if the proof holds, and 1 if it does not.
`

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ledger-proof:", err)
		os.Exit(1)
	}
}

// run carries out a command. Flags may be anywhere.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("ledger-proof", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var keys []string
	flags.Func("key", "", func(file string) error {
		text, err := os.ReadFile(file) //nolint:gosec // the user names the file
		keys = append(keys, string(text))
		return err
	})
	asOf := flags.String("as-of", "", "")
	account := flags.String("account", "", "")
	var files []string
	for {
		switch err := flags.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			_, err := io.WriteString(out, usage)
			return err
		case err != nil:
			return fmt.Errorf("%w\n\n%s", err, usage)
		}
		if flags.NArg() == 0 {
			break
		}
		files, args = append(files, flags.Arg(0)), flags.Args()[1:]
	}
	wanted := map[string]int{"inclusion": 2, "consistency": 4, "book": 3}
	if len(files) == 0 || wanted[files[0]] != len(files) || keys == nil {
		return errors.New("a command, its files and --key are needed\n\n" + usage)
	}
	switch files[0] {
	case "inclusion":
		return inclusion(files[1], keys, out)
	case "consistency":
		return consistency(files[1], files[2], files[3], keys, out)
	}
	at := time.Now()
	if *asOf != "" {
		var err error
		if at, err = time.Parse(time.RFC3339Nano, *asOf); err != nil {
			return errors.New("--as-of must be a time such as 2026-11-30T23:59:59Z")
		}
	}
	return book(files[1], files[2], keys, at, *account, out)
}

func openNote(file string, keys []string) (proof.Note, error) {
	signed, err := os.ReadFile(file) //nolint:gosec // the user names the file
	if err != nil {
		return proof.Note{}, err
	}
	n, err := proof.OpenNote(signed, keys...)
	if err != nil {
		return n, fmt.Errorf("%s: %w", file, err)
	}
	return n, nil
}

func inclusion(file string, keys []string, out io.Writer) error {
	text, err := os.ReadFile(file) //nolint:gosec // the user names the file
	if err != nil {
		return err
	}
	p, err := proof.ParseInclusion(text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	n, err := p.Check(keys...)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	_, err = fmt.Fprintf(out, `%s

This event is entry %d of the %d entries that the journal of %s had when the note was signed.
That does not prove that it is true, or that no later event changed what it says.
`, p.Canonical, p.Index, n.Size, n.Origin)
	return err
}

func consistency(older, newer, hashes string, keys []string, out io.Writer) error {
	before, err := openNote(older, keys)
	if err != nil {
		return err
	}
	after, err := openNote(newer, keys)
	if err != nil {
		return err
	}
	if before.Size > after.Size {
		return fmt.Errorf("the older note has %d entries, and the newer one %d: exchange them", before.Size, after.Size)
	}
	file, err := os.Open(hashes) //nolint:gosec // the user names the file
	if err != nil {
		return err
	}
	defer file.Close()
	path, err := tlog.ProveTree(after.Size, before.Size, proof.HashFile{ReaderAt: file})
	if err != nil {
		return fmt.Errorf("%s has not all hashes of the note of %d entries: %w", hashes, after.Size, err)
	}
	// The file needs no trust: hashes that were altered are no proof.
	if err := tlog.CheckTree(path, after.Size, after.Root, before.Size, before.Root); err != nil {
		return fmt.Errorf("the notes contradict each other, unless %s was altered or is of another journal: the "+
			"journal of %s does not begin with that of %s. An entry was altered, removed or reordered, or the two "+
			"were shown different ledgers", hashes, newer, older)
	}
	_, err = fmt.Fprintf(out, `The journal of %s with %d entries begins with the %d entries of the older note.
That does not prove what the entries say.
`, after.Origin, after.Size, before.Size)
	return err
}

// event has the fields of a canonical form that the verifier needs.
type event struct {
	Type, ID, Account, Group, User, Transaction, Number string

	Legs []struct{ ID, Account, Asset, Quantity, Cost string }
}

// identity names the event: two entries with one identity must be the same.
func (e event) identity() string {
	kind := e.Type
	switch e.Type {
	case "TransactionPosted", "TransactionHeld":
		kind = "transaction"
	case "HoldCaptured", "HoldReleased", "HoldExpired":
		kind = "end"
	case "MemberGranted", "MemberRevoked":
		kind = "grant"
	}
	return strings.Join([]string{kind, e.ID, e.Account, e.Group, e.User, e.Transaction, e.Number}, "#")
}

// book checks that the entries are all those of a note, and adds up the postings until a time.
func book(entries, signed string, keys []string, at time.Time, account string, out io.Writer) error {
	n, err := openNote(signed, keys)
	if err != nil {
		return err
	}
	file, err := os.Open(entries) //nolint:gosec // the user names the file
	if err != nil {
		return err
	}
	defer file.Close()
	tree, known, sums := proof.Tree{}, make(map[string]tlog.Hash), make(map[string][2]*big.Int)
	for in := json.NewDecoder(bufio.NewReader(file)); tree.Size < n.Size; {
		var line struct {
			Index     int64  `json:"index"`
			Canonical string `json:"canonical"`
		}
		if err := in.Decode(&line); err != nil {
			return fmt.Errorf("%s: it ends or breaks off after %d of %d entries: %w", entries, tree.Size, n.Size, err)
		}
		if line.Index != tree.Size {
			return fmt.Errorf("%s: entry %d follows where %d must: the entries are out of order", entries, line.Index,
				tree.Size)
		}
		leaf := tlog.RecordHash([]byte(line.Canonical))
		tree.Add(leaf)
		var e event
		if err := json.Unmarshal([]byte(line.Canonical), &e); err != nil {
			return fmt.Errorf("%s: entry %d: %w", entries, line.Index, err)
		}
		switch before, isKnown := known[e.identity()]; {
		case isKnown && before != leaf:
			return fmt.Errorf("%s: entry %d is another version of an event: %s", entries, line.Index, line.Canonical)
		case !isKnown && (e.Type == "TransactionPosted" || e.Type == "HoldCaptured"):
			if err := add(sums, e, at, account); err != nil {
				return fmt.Errorf("%s: entry %d: %w", entries, line.Index, err)
			}
		}
		known[e.identity()] = leaf
	}
	if tree.Root() != n.Root {
		return fmt.Errorf("%s: the entries are not those of the note: one was altered, added or left out", entries)
	}
	for _, of := range slices.Sorted(maps.Keys(sums)) {
		if _, err := fmt.Fprintf(out, "%s %s %s\n", of, sums[of][0], sums[of][1]); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, `
These are the quantities and costs, in minor units, that all %d entries of %s make until %s.
Nothing in the note is left out. What was posted after the note is not in it.
`, n.Size, n.Origin, at.UTC().Format(time.RFC3339Nano))
	return err
}

// add adds the legs of an event until a time to the sums by account and asset.
func add(sums map[string][2]*big.Int, e event, at time.Time, account string) error {
	for _, leg := range e.Legs {
		id, err := events.ParseKSUID(leg.ID)
		quantity, isQuantity := new(big.Int).SetString(leg.Quantity, 10)
		cost, isCost := new(big.Int).SetString(leg.Cost, 10)
		if err != nil || !isQuantity || !isCost {
			return fmt.Errorf("a leg of %s is malformed", leg.Account)
		}
		if id.Time().After(at) || account != "" && leg.Account != account {
			continue
		}
		of := leg.Account + " " + leg.Asset
		if sums[of][0] == nil {
			sums[of] = [2]*big.Int{new(big.Int), new(big.Int)}
		}
		sums[of][0].Add(sums[of][0], quantity)
		sums[of][1].Add(sums[of][1], cost)
	}
	return nil
}
