package projections

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/internal/table"
)

const (
	// pageUnits is how many read units the balances of a page may take. A page as a whole costs less than 200, which
	// the limits of its route rely on. The other 40 are for what else it reads: the account, twice at most, the
	// caller's roles on it, and the newest closings of the books.
	pageUnits = 160

	// countedPerBlock is how many of the items that a balance is the sum of, postings and segments, have at most 4 KB.
	// The largest posting has 1.6 KB.
	countedPerBlock = 2

	// balancesAtOnce is how many balances of an account are read in parallel.
	balancesAtOnce = 8
)

// Budget is what a page of strong or past balances may still cost. If a page is read again, both reads share it. A nil
// Budget has no end. It is not safe for concurrent use.
type Budget struct{ left int } // in halves of a read unit; negative after a first balance that took more

// NewBudget returns the budget of a page.
func NewBudget() *Budget { return &Budget{2 * pageUnits} }

// share returns a purse with one of several equal parts of what is left.
func (b *Budget) share(parts int) *purse {
	if b == nil {
		return &purse{isEndless: true}
	}
	return &purse{has: max(0, b.left) / parts}
}

// take takes what was spent from the budget, and returns it.
func (b *Budget) take(p *purse) int {
	if b != nil {
		b.left -= p.spent
	}
	return p.spent
}

// errSpent is returned by a read that might cost more than is left.
var errSpent = errors.New("the budget of the page is spent")

// purse is a table that pays for its reads. It refuses one with errSpent that might cost more than is left. A purse is
// for Get and Query, and for one goroutine.
type purse struct {
	table.Table
	has, spent int // in halves of a read unit
	isEndless  bool
}

// over returns views of the same table that pay with p.
func (p *purse) over(v *Views) *Views {
	p.Table = v.table
	return &Views{table: p, queries: v.queries, saw: v.saw}
}

// Get implements table.Table. The item has at most 4 KB, as balances do.
func (p *purse) Get(ctx context.Context, k table.Key, c table.Consistency) (table.Item, time.Time, error) {
	price := int(c.ReadKind())
	if p.has-p.spent < price && !p.isEndless {
		return nil, time.Time{}, errSpent
	}
	p.spent += price
	return p.Table.Get(ctx, k, c)
}

// Query implements table.Table. The page has as many items as can certainly be paid for.
func (p *purse) Query(ctx context.Context, q table.Query) (table.Page, error) {
	block := int(q.Consistency.ReadKind())
	if most := max(0, p.has-p.spent) / block * countedPerBlock; !p.isEndless {
		if most == 0 {
			return table.Page{}, errSpent
		}
		if q.Limit == 0 || q.Limit > most {
			q.Limit = most
		}
	}
	q.Priced = true
	page, err := p.Table.Query(ctx, q)
	p.spent += max(page.ReadHalves, block)
	return page, err
}

// balancesPage reads a page of an account's balances, within the budget of its slice.
type balancesPage[T any] struct {
	views *Views
	slice Slice
	// next returns the asset after another one. Error: also table.ErrAbsent, if there is none.
	next func(ctx context.Context, v *Views, after string) (asset string, err error)
	read func(ctx context.Context, v *Views, asset string) (T, error)

	items   []T
	assets  []string // that were found: those of items, and then those to read
	isEnd   bool     // no other asset is to be found
	isFull  bool     // there is another asset, but not on this page
	dearest int      // the most that one balance took, in halves of a read unit
}

// all reads the page: the first balance alone, whatever it costs, and then several at a time, each for its share of
// what is left. After a balance that costs more than its share, fewer are read at a time. The page ends before one that
// costs more than all that is left.
func (p *balancesPage[T]) all(ctx context.Context) (Page[T], error) {
	for isOver := false; !isOver; {
		n := p.atOnce()
		if err := p.find(ctx, n); err != nil {
			return Page[T]{}, err
		}
		group := p.assets[len(p.items):]
		group = group[:min(n, len(group))]
		complete, err := p.readEach(ctx, group)
		if err != nil {
			return Page[T]{}, err
		}
		isOver = len(group) == 0 || len(group) == 1 && complete == 0
	}
	page := Page[T]{Items: p.items}
	if p.isFull || len(p.items) < len(p.assets) {
		page.Next = p.assets[len(p.items)-1]
	}
	return page, nil
}

// atOnce returns how many balances are read next. Each could cost twice as much as the dearest so far.
func (p *balancesPage[T]) atOnce() int {
	switch {
	case p.slice.Budget == nil:
		return balancesAtOnce
	case len(p.items) == 0:
		return 1
	}
	return min(max(1, p.slice.Budget.left/max(1, 2*p.dearest)), balancesAtOnce)
}

// find finds assets until n are to be read, or fewer at the end of the page or of the budget. To know whether the page
// is the last, it looks for one even if the budget is spent.
func (p *balancesPage[T]) find(ctx context.Context, n int) error {
	for !p.isEnd && len(p.assets) < len(p.items)+n {
		after := p.slice.After
		if len(p.assets) > 0 {
			after = p.assets[len(p.assets)-1]
		}
		from := p.slice.Budget.share(1)
		from.isEndless = from.isEndless || len(p.assets) == len(p.items)
		asset, err := p.next(ctx, from.over(p.views), after)
		p.slice.Budget.take(from)
		switch {
		case errors.Is(err, errSpent):
			return nil
		case errors.Is(err, table.ErrAbsent):
			p.isEnd = true
		case err != nil:
			return err
		case len(p.assets) == p.slice.Limit:
			p.isEnd, p.isFull = true, true
		default:
			p.assets = append(p.assets, asset)
		}
	}
	return nil
}

// readEach reads balances in parallel, adds them to the page up to the first one that costs more than its share, and
// returns how many it added.
func (p *balancesPage[T]) readEach(ctx context.Context, assets []string) (int, error) {
	found, purses := make([]T, len(assets)), make([]*purse, len(assets))
	costly := make([]bool, len(assets))
	reads, ctx := errgroup.WithContext(ctx)
	for i, asset := range assets {
		purses[i] = p.slice.Budget.share(len(assets))
		purses[i].isEndless = purses[i].isEndless || len(p.items) == 0
		reads.Go(func() (err error) {
			found[i], err = p.read(ctx, purses[i].over(p.views), asset)
			if costly[i] = errors.Is(err, errSpent); costly[i] {
				return nil
			}
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return 0, err
	}
	for i := range purses {
		spent := p.slice.Budget.take(purses[i])
		if costly[i] {
			spent = max(spent, purses[i].has)
		}
		p.dearest = max(p.dearest, spent)
	}
	complete := slices.Index(append(costly, true), true)
	p.items = append(p.items, found[:complete]...)
	return complete, nil
}
