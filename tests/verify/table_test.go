package verify

import (
	"cmp"
	_ "embed"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
	"ledger.example/internal/watch/audit"
)

//go:embed testdata/corruptions.txt
var corruptionTable string

// corruption is a row of the table: a change of the book, with all findings that the audit must report.
type corruption struct {
	section, name string
	items         book // that are changed; nil: deleted
	wanted        wants
}

// Sections of the table. The forgeries are events that are altered or deleted, and that only projections and guards
// still show. Their rows do not have all findings.
const forgeries, ofLists, ofFuture = "forgeries", "lists", "future"

// corruptions returns all rows of the table except the forgeries.
func corruptions(t *testing.T) []corruption {
	return slices.DeleteFunc(slices.Clone(rows(t)), func(c corruption) bool { return c.section == forgeries })
}

// plant changes the book as a row says.
func (b book) plant(c corruption) {
	for k, item := range c.items {
		if b[k] = maps.Clone(item); item == nil {
			delete(b, k)
		}
	}
}

func (c corruption) altersEvents() bool {
	for k := range c.items {
		if table.IsEvent(k.SK) {
			return true
		}
	}
	return false
}

var allRows []corruption

// rows returns the rows of the table. Items and values are those of the sound book.
func rows(t *testing.T) []corruption {
	if allRows != nil {
		return allRows
	}
	sound, section := copyOfBook(t), ""
	for line := range strings.Lines(corruptionTable) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "["); ok {
			section, _, _ = strings.Cut(heading, "]")
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != 3 {
			t.Fatalf("not a row: %s", line)
		}
		c, b, first := corruption{section: section, name: strings.TrimSpace(cells[0]), items: make(book)}, copyOfBook(t), ""
		for text := range strings.SplitSeq(cells[1], ";") {
			w := sound.words(text)
			b.change(sound, w)
			first = cmp.Or(first, w[1])
		}
		for _, of := range []book{sound, b} {
			for k := range of {
				if !maps.Equal(b[k], sound[k]) && !reflect.DeepEqual(b[k], sound[k]) { // most have the same pointers
					c.items[k] = b[k]
				}
			}
		}
		for text := range strings.SplitSeq(cells[2], ";") {
			c.wanted = append(c.wanted, sound.findings(sound.words(text), first)...)
		}
		allRows = append(allRows, c)
	}
	return allRows
}

var word, braces = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\S+`), regexp.MustCompile(`\{([a-z]+(?::[^{}]*)?)\}`)

// words splits a text and replaces what is in braces.
func (b book) words(text string) []string {
	return word.FindAllString(braces.ReplaceAllStringFunc(text, func(s string) string {
		kind, of, _ := strings.Cut(strings.Trim(s, "{}"), ":")
		if f := inBraces[kind]; f != nil {
			return f(b, of)
		}
		keys, path := b.items(strings.Trim(s, "{}"))
		return b.text(keys[0], path)
	}), -1)
}

var (
	tableBegan = time.Now()
	past       = ids(events.NewMinter(longAgo, nil).Mint(2))
)

func ids(all []events.KSUID, _ time.Time, err error) []events.KSUID {
	if err != nil {
		panic(err)
	}
	return all
}

// inBraces has what braces may name besides an attribute.
var inBraces = map[string]func(b book, of string) string{
	"future":     func(book, string) string { return future },
	"new":        func(book, string) string { return string(events.FirstKSUID(tableBegan.Add(-time.Minute))) },
	"old":        func(_ book, of string) string { return string(past[number(of)]) }, // 48 hours ago
	"at":         func(_ book, of string) string { return events.FormatTime(tableBegan.Add(duration(of))) },
	"lane":       book.lane,
	"next":       book.nextLane,
	"futurelane": func(b book, _ string) string { return b.lanes().OfPage(events.KSUID(future)) },
	"pageid": func(b book, of string) string { // of the page with an event
		keys, _ := b.items(of)
		page, _ := b.findEntry(keys[0])
		return table.FirstID(page.SK)
	},
	"nextpage": func(b book, of string) string { // the lane after that of the page with an event
		keys, _ := b.items(of)
		page, _ := b.findEntry(keys[0])
		lane, _, _ := table.Journal.Parse(page)
		return strconv.Itoa(1 - int(number(lane)))
	},
	"index": func(b book, of string) string { // in its page of the journal
		keys, _ := b.items(of)
		_, i := b.findEntry(keys[0])
		return strconv.Itoa(i)
	},
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return d
}

// nth returns the key with a number, which counts from the end if it is negative, or all keys for *.
func nth(keys []table.Key, n string) []table.Key {
	if n == "*" {
		return keys
	}
	i := int(number(n))
	if i < 0 {
		i += len(keys)
	}
	return keys[i : i+1]
}

// itemTypes are the names of items in the table that are followed by the parts of the key.
var itemTypes = map[string]*table.Pattern{
	"asset": table.Asset.Pattern, "account": table.Account.Pattern, "group": table.Group.Pattern,
	"txn": table.Transaction.Pattern, "end": table.Outcome.Pattern, "reversal": table.Reversal.Pattern,
	"change": table.Change.Pattern, "current": table.Current.Pattern, "guard": table.Spend.Pattern,
	"summary": table.Summary.Pattern, "grant": table.Grant.Pattern, "member": table.Membership.Pattern,
	"groupgrant": table.GroupGrant.Pattern, "groupmember": table.GroupMembership.Pattern,
	"growth": table.LanesGrown.Pattern,
	"period": table.Period.Pattern, "grouping": table.Grouping.Pattern, "place": table.Grouped.Pattern,
	"tag": table.Tagged.Pattern,
}

// itemNames are the other names of items. A number counts from the end if it is negative; * stands for all.
var itemNames = map[string]func(b book, of []string) []table.Key{
	"key":     func(_ book, a []string) []table.Key { return []table.Key{{PK: a[0], SK: a[1]}} },
	"posting": func(b book, a []string) []table.Key { return nth(b.postings(a[0], a[1]), a[2]) },
	"segment": func(b book, a []string) []table.Key { return nth(b.segments(a[0], a[1]), a[2]) },
	// The postings of a header and of an end, by their legs.
	"leg":    func(b book, a []string) []table.Key { return nth(b.postingsOf(table.Transaction.Key(a[0])), a[1]) },
	"endleg": func(b book, a []string) []table.Key { return nth(b.postingsOf(table.Outcome.Key(a[0])), a[1]) },
	"balance": func(b book, a []string) []table.Key {
		if a[1] == "*" {
			return b.in(a[0], table.Balance.All().From)
		}
		return []table.Key{table.Balance.Key(a[0], a[1])}
	},
	// The entries of a hold: of one account, by expiry, and all three of a hold from ann to shop.
	"hold":   func(b book, a []string) []table.Key { return []table.Key{b.holdKey(a[0], a[1])} },
	"expiry": func(b book, a []string) []table.Key { return []table.Key{b.expiryKey(a[0])} },
	"held": func(b book, a []string) []table.Key {
		return []table.Key{b.holdKey("ann", a[0]), b.holdKey("shop", a[0]), b.expiryKey(a[0])}
	},
	// The entries of a transaction in the list by time and in a list by metadata.
	"listed": func(b book, a []string) []table.Key { return []table.Key{b.listKey(a[0])} },
	"tagged": func(b book, a []string) []table.Key {
		return []table.Key{{PK: table.ListedMetadata.PK(b.lane(a[0]), a[1], a[2]), SK: b.listKey(a[0]).SK}}
	},
}

// items returns the keys of ITEM@PATH. page:ITEM is the page of the journal with an event.
func (b book) items(s string) (keys []table.Key, path string) {
	s, path, _ = strings.Cut(s, "@")
	if event, isPage := strings.CutPrefix(s, "page:"); isPage {
		keys, _ = b.items(event)
		page, _ := b.findEntry(keys[0])
		return []table.Key{page}, path
	}
	name, rest, _ := strings.Cut(s, ":")
	of := strings.Split(rest, ",")
	p := itemTypes[name]
	if p == nil {
		return itemNames[name](b, of), path
	}
	if n, err := strconv.ParseInt(of[len(of)-1], 10, 64); err == nil {
		of[len(of)-1] = table.Number(n)
	}
	if p == table.Period.Pattern || p == table.LanesGrown.Pattern {
		return []table.Key{{PK: p.PK(), SK: p.SK(of[0])}}, path
	}
	k := table.Key{PK: p.PK(of[0]), SK: p.PK(of[0])}
	if p.ItemType.SK != p.ItemType.PK {
		k.SK = p.SK(of[1:]...)
	}
	return []table.Key{k}, path
}

// stored returns a value of the table.
func (b book) stored(s string) types.AttributeValue {
	switch {
	case s[0] == '"':
		text, err := strconv.Unquote(s)
		if err != nil {
			panic(err)
		}
		return table.String(text)
	case s[0] == '=':
		keys, path := b.items(s[1:])
		if path == "" {
			return table.Map(b[keys[0]])
		}
		return b.value(keys[0], path)
	case s[0] == '[':
		list := &types.AttributeValueMemberL{}
		for id := range strings.SplitSeq(strings.Trim(s, "[]"), ",") {
			list.Value = append(list.Value, table.String(id))
		}
		return list
	case s == "true", s == "false":
		return table.Flag(s == "true")
	}
	return &types.AttributeValueMemberN{Value: s}
}

// change makes a change of the table. Items and values are those of the sound book.
func (b book) change(sound book, w []string) {
	if w[0] == "version" {
		b.addChange(events.AccountChanged{ID: w[1], Number: number(w[2]), State: events.AccountState(w[3]),
			At: tableBegan.Add(duration(w[4]))})
		return
	}
	keys, path := sound.items(w[1])
	k := keys[0]
	switch w[0] {
	case "set":
		b.set(k, path, sound.stored(w[2]))
	case "add":
		b.add(k, path, number(w[2]))
	case "drop":
		if path != "" {
			b.unset(k, path)
			return
		}
		for _, k := range keys {
			b.drop(k)
		}
	case "copy", "move":
		to, _ := sound.items(w[2])
		if b.put(to[0], b[k]); w[0] == "move" {
			b.drop(k)
		}
	case "seal":
		b.seal(k, path)
	case "cut", "repeat", "reverse":
		name, index, _ := strings.Cut(strings.TrimSuffix(path, "]"), "[")
		list := slices.Clone(b[k][name].(*types.AttributeValueMemberL).Value)
		switch i, _ := strconv.Atoi(index); w[0] {
		case "cut":
			list = slices.Delete(list, i, i+1)
		case "repeat":
			list = slices.Insert(list, i, list[i])
		default:
			slices.Reverse(list)
		}
		b.set(k, name, &types.AttributeValueMemberL{Value: list})
	default:
		panic(w[0])
	}
}

// seal recomputes the checksum of a page of the journal, of a current account, or of a copy of an event in an item.
func (b book) seal(k table.Key, path string) {
	item := maps.Clone(b[k])
	switch {
	case path != "":
		item, path = item[path].(*types.AttributeValueMemberM).Value, path+"."
	case table.Journal.Is(k.SK):
		b.set(k, table.AttrChecksum, table.String(b.page(k).Checksum()))
		return
	default:
		item[table.AttrType] = table.String("AccountChanged")
	}
	b.set(k, path+table.AttrChecksum, table.String(tabletest.Checksum(item)))
}

// addChange adds a change of an account to the book, makes it the current account, and sets its number in the guard.
func (b book) addChange(c events.AccountChanged) {
	c.Profile, c.Actor = "{}", "tester"
	b[table.Change.Key(c.ID, c.Number)] = table.EventItem(c)
	b[table.Current.Key(c.ID)] = table.NewItemEncoder(1).Current(c)
	b.set(table.Spend.Key(c.ID, "USD"), table.AttrChange, table.Integer(c.Number))
}

// findings returns the findings that a text of the table stands for. first is the first changed item.
func (b book) findings(w []string, first string) (all wants) {
	switch {
	case len(w) == 0:
		return nil
	case w[0] == "counts":
		keys, _ := b.items(w[3])
		account, asset, id, _ := table.Posting.Parse(keys[0])
		all = wants{{audit.Code(w[1]), table.Balance.Key(account, asset), ""}}
		for _, s := range b.segments(account, asset) {
			if table.LastID(s.SK) >= id {
				return append(all, want{audit.Code(w[2]), s, ""})
			}
		}
		return all
	case w[0] == "unpaged":
		keys, _ := b.items(w[1])
		return b.missingPageFindings(keys[0])
	}
	of, _, _ := strings.Cut(first, "@")
	switch {
	case len(w) > 1 && w[1] == "@":
		of = first
	case len(w) > 1 && w[1][0] == '@':
		of += w[1]
	case len(w) > 1:
		of = w[1]
	}
	keys, attribute := b.items(of)
	for _, k := range keys {
		all = append(all, want{audit.Code(w[0]), k, attribute})
	}
	return all
}
