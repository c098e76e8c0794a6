package metrics

import (
	"context"
	"log/slog"
)

// valuesMax is the most values of one metric that a line may have (specification of the format, target members).
const valuesMax = 100

// directiveKey is the member of a line that makes it the format's: CloudWatch looks for it at the root.
const directiveKey = "_aws"

// directive tells CloudWatch which members of its line are values.
type directive struct {
	Timestamp         int64 // milliseconds since 1970
	CloudWatchMetrics []set
}

// set names metrics of the same dimensions.
type set struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

type definition struct {
	Name string
	Unit Unit
}

// handler adds a directive to the records that have values.
type handler struct {
	next      slog.Handler
	namespace string
	metrics   map[string]Metric // by name
}

// NewHandler returns a handler that passes every record on to next, and adds to those that have values of Metrics the
// directive by which CloudWatch takes them into namespace. next must write JSON. A record with a list longer than a line
// may have is followed by others with the rest of the list.
func NewHandler(next slog.Handler, namespace string) slog.Handler {
	h := &handler{next: next, namespace: namespace, metrics: make(map[string]Metric)}
	for _, m := range Metrics() {
		h.metrics[m.Name] = m
	}
	return h
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler. What every line of a logger has is no measurement.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{next: h.next.WithAttrs(attrs), namespace: h.namespace, metrics: h.metrics}
}

// WithGroup implements slog.Handler. Members of a group aren't at the root, where values have to be: nothing is taken.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.next.WithGroup(name)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	var measured []Metric
	long := false // there is a list that a line may not have
	r.Attrs(func(a slog.Attr) bool {
		if m, ok := h.metrics[a.Key]; ok && m.isMeasuredBy(r, a.Value) {
			measured = append(measured, m)
			long = long || len(listOf(a.Value)) > valuesMax
		}
		return true
	})
	if len(measured) == 0 {
		return h.next.Handle(ctx, r)
	}
	line, rest := r.Clone(), slog.Record{}
	if long {
		line, rest = h.cut(r)
	}
	line.AddAttrs(slog.Any(directiveKey, h.directive(r.Time.UnixMilli(), measured)))
	if err := h.next.Handle(ctx, line); err != nil || !long {
		return err
	}
	return h.Handle(ctx, rest)
}

// cut returns r without what its lists of values have above valuesMax, and a record of that alone.
func (h *handler) cut(r slog.Record) (line, rest slog.Record) {
	line = slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	rest = slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		m, ok := h.metrics[a.Key]
		if list := listOf(a.Value); len(list) > valuesMax && ok && m.isMeasuredBy(r, a.Value) {
			a = slog.Any(a.Key, list[:valuesMax])
			rest.AddAttrs(slog.Any(a.Key, list[valuesMax:]))
		}
		line.AddAttrs(a)
		return true
	})
	return line, rest
}

// listOf returns the list of numbers that a value is, nil when it is something else.
func listOf(v slog.Value) []int64 {
	if v.Kind() != slog.KindAny {
		return nil
	}
	list, _ := v.Any().([]int64)
	return list
}

// directive names measured, those of one dimension together.
func (h *handler) directive(at int64, measured []Metric) directive {
	d := directive{Timestamp: at}
	index := make(map[string]int, 1)
	for _, m := range measured {
		i, ok := index[m.Dimension]
		if !ok {
			i = len(d.CloudWatchMetrics)
			index[m.Dimension] = i
			dimensions := []string{} // none: the metric as a whole
			if m.Dimension != "" {
				dimensions = append(dimensions, m.Dimension)
			}
			d.CloudWatchMetrics = append(d.CloudWatchMetrics, set{Namespace: h.namespace, Dimensions: [][]string{dimensions}})
		}
		d.CloudWatchMetrics[i].Metrics = append(d.CloudWatchMetrics[i].Metrics, definition{m.Name, m.Unit})
	}
	return d
}

// isMeasuredBy tells whether v, an attribute of r, is what the format takes for m: of a metric that is split, one number
// beside its dimension, a text that isn't empty; of another, a list of numbers, too.
func (m Metric) isMeasuredBy(r slog.Record, v slog.Value) bool {
	if m.Dimension == "" {
		return v.Kind() == slog.KindInt64 || len(listOf(v)) > 0
	}
	split := false
	r.Attrs(func(a slog.Attr) bool {
		split = a.Key == m.Dimension && a.Value.Kind() == slog.KindString && a.Value.String() != ""
		return !split
	})
	return split && v.Kind() == slog.KindInt64
}
