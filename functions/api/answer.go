package api

import (
	"context"
	"net/http"

	"ledger.example/client"
	"ledger.example/projections"
)

// answerPut reads the body of a PUT into in, and executes the command that commandOf makes of it. It answers 201 if the
// command created the resource. read reads the resource as it is stored, and show shows it.
func answerPut[S, T any, C command](
	r *request, in *T, commandOf func() C, read func(context.Context, string) (S, error), show func(S) T,
	execute func(context.Context, C) (stored S, created bool, err error),
) (reply, error) {
	r.read(in)
	c := commandOf()
	if err := r.permit(c); err != nil {
		return reply{}, err
	}
	ctx := r.http.Context()
	if err := checkSame(ctx, r, read, show); err != nil {
		return reply{}, err
	}
	stored, created, err := execute(ctx, c)
	return written(created, r.path(), show(stored)), err
}

// reading reads a page of a list. of is the id of the account, asset, group or user to which the list belongs, or the
// prefix of the ids in it.
type reading[T any] func(ctx context.Context, of string, s projections.Slice) (projections.Page[T], error)

// answerList answers with a page of l, which read reads. show converts an item. If the page is empty, exists checks
// whether the owner of the list exists; it is nil if the owner need not exist.
func answerList[S, T any](
	r *request, l list, of string, read reading[S], exists func(ctx context.Context, of string) error, show func(S) T,
) (reply, error) {
	return answerPage(r, l, show, func(ctx context.Context, s projections.Slice) (projections.Page[S], error) {
		listed, err := read(ctx, of, s)
		if err == nil && len(listed.Items) == 0 && exists != nil {
			err = exists(ctx, of)
		}
		return listed, err
	})
}

// answerByPrefix answers with a page of the resources whose ids begin with the caller's prefix.
func answerByPrefix[S, T any](r *request, in *client.ByPrefix, read reading[S], show func(S) T) (reply, error) {
	return answerList(r, r.list(paramPrefix, in.Prefix), in.Prefix, read, nil, show)
}

// answerPage answers with a page of l, which read reads.
func answerPage[S, T any](
	r *request, l list, show func(S) T,
	read func(context.Context, projections.Slice) (projections.Page[S], error),
) (reply, error) {
	s := r.slice(l)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	listed, err := read(r.http.Context(), s)
	return reply{status: http.StatusOK, body: pageOf(l, listed, show)}, err
}

// accountExists returns account_not_found if the account does not exist.
func (a *api) accountExists(ctx context.Context, id string) error {
	_, err := a.config.Resources.KnownAccount(ctx, id)
	return err
}

// assetExists returns asset_not_found if the asset does not exist.
func (a *api) assetExists(ctx context.Context, id string) error {
	_, err := a.config.Resources.Asset(ctx, id)
	return err
}

// pageOf returns a page of l, with items converted by show.
func pageOf[S, T any](l list, listed projections.Page[S], show func(S) T) client.List[T] {
	p := client.List[T]{Data: make([]T, len(listed.Items))}
	for i, item := range listed.Items {
		p.Data[i] = show(item)
	}
	if listed.Next != "" {
		p.NextCursor = new(l.cursor(listed.Next))
	}
	return p
}

// answerResource answers with what an id names, as it is now, with a tag of that.
func answerResource[S, T any](
	r *request, id string, read func(context.Context, string) (S, error), show func(S) T,
) (reply, error) {
	if err := r.check(); err != nil {
		return reply{}, err
	}
	e, err := read(r.http.Context(), id)
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, body: show(e), tagged: true}, nil
}
