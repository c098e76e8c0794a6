package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/projections"
)

// The numbers of items in pages of lists.
const (
	limitMax     = 100
	limitDefault = 20
)

// A reading reads a page of a list.
type reading[In, S any] func(a *api, r *request, in *In, s projections.Slice) (projections.Page[S], error)

// list returns the route of a list. Its positions pass valid; read reads its pages, and show converts its items. For a
// user, it is without the items that name an account or a group on which the user has no role now.
func list[In, Out, S, T any](
	o client.Op[In, Out], valid func(position string) bool, read reading[In, S], show func(S) T,
) route {
	of, most := others(o.Untyped(), reflect.TypeFor[T]())
	isForeign := of == client.NamesGroup && strings.Contains(o.Path, "{account}") // not only the user's own groups
	return paged(o, valid, paramCursor, func(a *api, r *request, in *In, l listed, s projections.Slice) (reply, error) {
		if !r.caller.Admin {
			s.Limit = min(s.Limit, most)
		}
		readPage := func(s projections.Slice) (client.List[T], string, error) {
			page, err := read(a, r, in, s)
			shown := pageOf(l, page, show)
			if err == nil && of != "" && !r.caller.Admin {
				shown.Data, err = visibleItems(r, of, shown.Data)
			}
			return shown, page.Next, err
		}
		if isForeign && !r.caller.Admin {
			return okIf(visiblePage(l, s, readPage))
		}
		shown, _, err := readPage(s)
		return okIf(shown, err)
	})
}

// visiblePage returns a page of groups that a user may see. Their positions are their ids. It ends where they end:
// neither a cursor nor its absence tells of a hidden group. readPage returns the visible items of a page, and where to
// continue.
func visiblePage[T any](
	l listed, s projections.Slice, readPage func(projections.Slice) (client.List[T], string, error),
) (all client.List[T], err error) {
	limit := s.Limit
	all.Data = []T{}
	for {
		page, next, err := readPage(s)
		if err != nil {
			return page, err
		}
		all.Data = append(all.Data, page.Data...)
		if len(all.Data) > limit {
			all.Data = all.Data[:limit]
			_ = names(reflect.ValueOf(all.Data[limit-1]), true, func(named client.Named, id string) {
				if named == client.NamesGroup {
					all.NextCursor = new(l.cursor(id))
				}
			})
			return all, nil
		}
		if next == "" {
			return all, nil
		}
		s.After, s.Limit = next, limit+1-len(all.Data)
	}
}

// paged returns the route of a read of one page. The parameter cursor has its cursor, whose position passes valid.
func paged[In, Out any](
	o client.Op[In, Out], valid func(position string) bool, cursor string,
	do func(*api, *request, *In, listed, projections.Slice) (reply, error),
) route {
	return routeOf(o, func(a *api, r *request, in *In) (reply, error) {
		l := r.listOf(in, valid)
		s := r.slice(cursor, l)
		if err := r.check(); err != nil {
			return reply{}, err
		}
		return r.permitRead(func() (reply, error) { return do(a, r, in, l, s) })
	})
}

// pageOf returns a page of l, with items converted by show. They have no fields that items of lists do not have.
func pageOf[S, T any](l listed, page projections.Page[S], show func(S) T) client.List[T] {
	p := client.List[T]{Data: make([]T, len(page.Items))}
	var omitted []client.Field
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Struct {
		omitted = slices.DeleteFunc(slices.Clone(client.FieldsOf(t)), client.Field.IsListed)
	}
	for i, item := range page.Items {
		p.Data[i] = show(item)
		for _, f := range omitted {
			reflect.ValueOf(&p.Data[i]).Elem().FieldByIndex(f.Index).SetZero()
		}
	}
	if page.Next != "" {
		p.NextCursor = new(l.cursor(page.Next))
	}
	return p
}

// those reads a list of projections: that of the account, asset, group or user of the path or, if there is none, of the
// resources whose ids begin with a prefix. If the page is empty, it checks whether the owner of the list exists; users
// need not exist.
func those[In, S any](
	from func(*projections.Lists, context.Context, string, projections.Slice) (projections.Page[S], error),
) reading[In, S] {
	return func(a *api, r *request, _ *In, s projections.Slice) (projections.Page[S], error) {
		page, err := from(a.config.Lists, r.ctx(), cmp.Or(r.lastID(), r.query[paramPrefix]), s)
		if err == nil && len(page.Items) == 0 {
			err = a.exist(r.ctx(), r.ids)
		}
		return page, err
	}
}

// exist returns the error of the account, the group or the asset with one of the given ids, by their names, that does
// not exist. Other names are not checked.
func (a *api) exist(ctx context.Context, ids map[string]string) (err error) {
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		switch name {
		case "account":
			_, err = a.config.Resources.KnownAccount(ctx, ids[name])
		case "asset":
			_, err = a.config.Resources.Asset(ctx, ids[name])
		case "group":
			_, err = a.config.Resources.Group(ctx, ids[name])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listOf returns the list that a request asks for: its path and its filters.
func (r *request) listOf(in any, valid func(position string) bool) listed {
	l, v := listed{r.path(), valid}, reflect.ValueOf(in).Elem()
	for _, f := range client.FieldsOf(v.Type()) {
		value := v.FieldByIndex(f.Index)
		if f.Query == "" || f.Tag.Get("filter") == "-" || value.IsZero() {
			continue
		}
		l.name += "&" + f.Query + "="
		switch is := value.Interface().(type) {
		case time.Time:
			l.name += events.FormatTime(is)
		default:
			l.name += fmt.Sprint(is) // of a map, too
		}
	}
	return l
}

// slice returns the part of l that the parameters limit and cursor select. name is the parameter of the cursor.
func (r *request) slice(name string, l listed) projections.Slice {
	s := projections.Slice{Limit: limitDefault}
	if text, given := r.query[paramLimit]; given {
		var rule string
		s.Limit, rule = number(text, "1", strconv.Itoa(limitMax))
		r.failOnce(paramLimit, rule)
	}
	cursor, given := r.query[name]
	if !given {
		return s
	}
	position, err := l.position(cursor)
	// If a filter is invalid, the cursor may belong to the list with the correct filter.
	if err != nil && (err != errCursorForeign || len(r.faults) == 0) {
		r.failCursor(name, err)
	}
	s.After = position
	return s
}

// failCursor records a fault of the cursor in a parameter.
func (r *request) failCursor(name string, reason error) {
	before := len(r.faults)
	r.failOnce(name, reason.Error())
	r.badCursor = len(r.faults) > before // false if the parameter already has a fault
}

// A cursor is base64url of a version, a hash of its list, the position after which the next page begins, and a checksum
// of these. It needs no signature: a forged cursor shows only items that the caller can see in the list anyway.
const (
	cursorVersion  = 1
	cursorListSize = 8
	cursorSumSize  = 4
	cursorChars    = 1000 // cursors are shorter; the API promises this
)

// The reasons to refuse a cursor. Their texts are for callers, and continue a sentence that begins with "The cursor".
var (
	errCursorAltered = errors.New("was altered, or was not issued by this API")
	errCursorForeign = errors.New("belongs to another list or to other filters")
	// errCursorElsewhere is for positions in the journal and in statements.
	errCursorElsewhere = errors.New("is of another ledger, or of a ledger restored to before this position")
)

// listed identifies a list of the API. Cursors are valid for one list only.
type listed struct {
	name  string                     // the path and the filters, in canonical form
	valid func(position string) bool // reports whether a string can be a position in the list
}

// hash returns the hash of l for its cursors.
func (l listed) hash() []byte {
	sum := sha256.Sum256([]byte(l.name))
	return sum[:cursorListSize]
}

// cursor returns the cursor of the page after position, which is "" for the first page.
func (l listed) cursor(position string) string {
	b := make([]byte, 0, 1+cursorListSize+len(position)+cursorSumSize)
	b = append(b, cursorVersion)
	b = append(b, l.hash()...)
	b = append(b, position...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// position returns the position of a cursor. Errors: errCursorAltered, errCursorForeign.
func (l listed) position(cursor string) (string, error) {
	if len(cursor) >= cursorChars {
		return "", errCursorAltered
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// The decoder ignores line ends.
	if err != nil || strings.ContainsAny(cursor, "\r\n") ||
		len(b) < 1+cursorListSize+cursorSumSize || b[0] != cursorVersion {
		return "", errCursorAltered
	}
	content, sum := b[:len(b)-cursorSumSize], b[len(b)-cursorSumSize:]
	if binary.BigEndian.Uint32(sum) != crc32.ChecksumIEEE(content) {
		return "", errCursorAltered
	}
	if string(content[1:1+cursorListSize]) != string(l.hash()) {
		return "", errCursorForeign
	}
	position := string(content[1+cursorListSize:])
	if position != "" && !l.valid(position) {
		return "", errCursorAltered
	}
	return position, nil
}
