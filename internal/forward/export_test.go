package forward

// Signatures is for tests.
func (w *Webhook) Signatures(id, timestamp string, body []byte) string {
	return w.signatures(id, timestamp, body)
}
