package tui

// brake stops what runs.
type brake struct {
	*base
	*current
	work   *work
	outbox *outbox
	shell  *shell
}

// stop ends what runs, and gives what waits back to the editor.
func (b *brake) stop() bool {
	switch {
	case b.work.cancel != nil:
		b.work.cancel()
		b.work.cancel = nil // what does not listen shall not keep the key from the rest
		b.outbox.returnWaiting()
	case b.session != nil && (b.work.on || b.work.busy != "" || len(b.outbox.outgoing) > 0):
		b.outbox.unqueue(true)
		b.session.Abort()
	case b.opening && len(b.outbox.waiting) > 0:
		b.outbox.returnWaiting()
	case b.shell.stop():
	default:
		return false
	}
	b.redraw()
	return true
}
