package audit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"ledger.example/ledger/table"
)

const (
	// bucketsCount is into how many sums of hashes the transactions are divided: with a thousand million of them, a bucket
	// that doesn't come out holds some thousands to look at.
	bucketsCount = 1 << 18
	// openMax is how many transactions may be seen by half at a time, before they are looked up at once.
	openMax = 20_000
	// commandLife is longer than a commit may come after the instant in its KSUIDs.
	commandLife = 10 * time.Second
	// assetsMax is of how many assets the sum is kept for itself; the others' is one.
	assetsMax = 50_000
)

// journal compares the legs that headers carry with the postings that are there. Every leg expected is added, and every
// posting found taken away, as a hash with a key of this audit's: what is left of a transaction is zero when they are the
// same legs. Those of settled transactions are summed up by bucket; the others, which a scan may catch by half, each by
// itself.
type journal struct {
	*Audit
	key       [16]byte
	open      time.Time // transactions from this instant on are kept by themselves
	sumBefore time.Time // the sums of assets are of postings before this instant
	buckets   []bucket

	mu      sync.Mutex
	halves  map[string]*half
	assets  map[string]*sums
	unknown map[string]bool // assets of which a posting cannot be read: nothing can be said of their sums
}

// digest is a sum of hashes.
type digest [2]uint64

func (d *digest) add(e digest) { d[0], d[1] = d[0]+e[0], d[1]+e[1] }

func (d digest) negated() digest { return digest{-d[0], -d[1]} }

type bucket struct {
	sums  [2]atomic.Uint64
	items atomic.Uint32
}

// half is a transaction of which not everything was seen so far.
type half struct {
	left     digest
	postings []table.Key // that say that they are its
}

func (j *journal) start(a *Audit) error {
	j.Audit = a
	if _, err := rand.Read(j.key[:]); err != nil {
		return err
	}
	j.open = a.started.Add(-a.Settle)
	j.sumBefore = a.started.Add(-min(a.Settle, commandLife))
	j.buckets = make([]bucket, bucketsCount)
	j.halves = make(map[string]*half)
	j.assets = make(map[string]*sums)
	j.unknown = make(map[string]bool)
	return nil
}

// digestOf is the hash of all that a posting says.
func (j *journal) digestOf(p posting) digest {
	var buffer [512]byte
	b := append(buffer[:0], j.key[:]...)
	for _, s := range [...]string{p.transaction, p.account, p.asset, p.ksuid, p.kind, p.description} {
		b = append(strconv.AppendInt(b, int64(len(s)), 10), ':')
		b = append(b, s...)
	}
	b = append(p.quantity.Append(b, 10), ';')
	b = append(p.cost.Append(b, 10), ';')
	hash := sha256.Sum256(b)
	return digest{binary.BigEndian.Uint64(hash[:]), binary.BigEndian.Uint64(hash[8:])}
}

func (j *journal) bucketOf(transaction string) int {
	hash := sha256.Sum256(append(j.key[:], transaction...))
	return int(binary.BigEndian.Uint32(hash[:]) % bucketsCount)
}

// expect notes the legs of a header.
func (j *journal) expect(ctx context.Context, h header) error {
	var all digest
	for i := range h.legs {
		all.add(j.digestOf(h.posting(i)))
	}
	return j.note(ctx, h.id, h.legs[0].ksuid, all, len(h.legs))
}

// met notes a posting that is there.
func (j *journal) met(ctx context.Context, p posting, key table.Key) error {
	if at, ok := instantOf(p.ksuid); ok && at.Before(j.sumBefore) {
		j.mu.Lock()
		id := p.asset
		if j.assets[id] == nil {
			if len(j.assets) >= assetsMax {
				id = ""
			}
			if j.assets[id] == nil {
				j.assets[id] = new(sums)
			}
		}
		j.assets[id].add(p.leg)
		j.mu.Unlock()
	}
	return j.note(ctx, p.transaction, p.ksuid, j.digestOf(p).negated(), 1, key)
}

// unreadable notes that a posting of an asset is there, and cannot be read.
func (j *journal) unreadable(asset string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.assets[asset] == nil && len(j.unknown) >= assetsMax {
		asset = ""
	}
	j.unknown[asset] = true
}

func (j *journal) note(ctx context.Context, transaction, ksuid string, d digest, items int, postings ...table.Key) error {
	if at, ok := instantOf(ksuid); ok && at.Before(j.open) {
		b := &j.buckets[j.bucketOf(transaction)]
		b.sums[0].Add(d[0])
		b.sums[1].Add(d[1])
		b.items.Add(uint32(items))
		return nil
	}
	j.mu.Lock()
	h := j.halves[transaction]
	if h == nil && len(j.halves) >= openMax {
		j.mu.Unlock()
		return j.examine(ctx, transaction, postings)
	}
	defer j.mu.Unlock()
	if h == nil {
		h = new(half)
		j.halves[transaction] = h
	}
	h.note(d, postings)
	if h.left == (digest{}) {
		delete(j.halves, transaction)
	}
	return nil
}

func (h *half) note(d digest, postings []table.Key) {
	h.left.add(d)
	h.postings = append(h.postings, postings...)
}

// examineRounds is how often a transaction that looks wrong is read in all: each read tells of one instant, but a posting
// may have been seen before its header could be.
const (
	examineRounds = 3
	examinePause  = 300 * time.Millisecond
)

// examine reads a transaction and the postings that say that they are its, and reports what is wrong.
func (j *journal) examine(ctx context.Context, id string, postings []table.Key) error {
	for round := 1; ; round++ {
		found, err := j.transaction(ctx, id, postings)
		if err != nil || len(found) == 0 {
			return err
		}
		if round == examineRounds {
			j.report(found...)
			return nil
		}
		if err := j.Pause(ctx, examinePause); err != nil {
			return err
		}
	}
}

func (j *journal) transaction(ctx context.Context, id string, postings []table.Key) (found []Finding, err error) {
	key := table.TransactionKey(id)
	item, err := j.get(ctx, key)
	if err != nil {
		return nil, err
	}
	h, readable := as[header](item)
	if !readable && len(item) > 0 {
		return nil, nil // the scan tells of it
	}
	keys, expected := []table.Key{key}, make(map[table.Key]posting, len(h.legs))
	for i, leg := range h.legs {
		k := table.PostingKey(leg.account, leg.asset, leg.ksuid)
		keys = append(keys, k)
		expected[k] = h.posting(i)
	}
	if len(keys) > 1 {
		items, err := j.together(ctx, keys)
		if err != nil {
			return nil, err
		}
		for i, k := range keys[1:] {
			want := expected[k]
			stored, ok := as[posting](items[i+1])
			switch {
			case len(items[i+1]) == 0:
				found = append(found, Finding{Code: PostingMissing, Key: k, Stored: absent, Recomputed: want.String()})
			case ok && j.digestOf(stored) != j.digestOf(want):
				found = append(found, Finding{Code: PostingDiffers, Key: k, Stored: stored.String(), Recomputed: want.String()})
			}
		}
	}
	for _, k := range postings {
		if _, ok := expected[k]; ok {
			continue
		}
		item, err := j.get(ctx, k)
		if err != nil {
			return nil, err
		}
		stored, ok := as[posting](item)
		if !ok || stored.transaction != id {
			continue
		}
		right := "no posting: there is no transaction " + strconv.Quote(id)
		if readable {
			right = "no posting: transaction " + strconv.Quote(id) + " has no such leg"
		}
		found = append(found, Finding{Code: PostingAlone, Key: k, Stored: stored.String(), Recomputed: right})
	}
	return found, nil
}

func (p posting) String() string {
	return fmt.Sprintf("quantity %s, cost %s of %s %q, description %q", p.quantity, p.cost, p.kind, p.transaction, p.description)
}
